// One solver and several threads, and code that a solve calls and that asks for the same solver.
#include <atomic>
#include <cmath>
#include <functional>
#include <numbers>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/batch_linear_solver.hpp"
#include "whilst/called_equations.hpp"
#include "whilst/called_objective.hpp"
#include "whilst/columns_linear_solver.hpp"
#include "whilst/eigenvalue_solver.hpp"
#include "whilst/least_squares.hpp"
#include "whilst/least_squares_batch.hpp"
#include "whilst/minimizer.hpp"
#include "whilst/minimizer_batch.hpp"
#include "whilst/nonlinear_solver.hpp"
#include "whilst/recorder.hpp"
#include "whilst/template_door.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::report;

namespace {

/// Calls work(thread, time) from so many threads, again and again, all at the same time; returns what was thrown.
std::string failures_on_threads(int threads, int times, const std::function<void(int, int)>& work) {
  std::atomic<int> ready{0};
  std::vector<std::string> thrown(static_cast<std::size_t>(threads));
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      ++ready;
      while (ready < threads) std::this_thread::yield();
      try {
        for (int k = 0; k < times; ++k) work(t, k);
      } catch (const std::exception& e) {
        thrown[static_cast<std::size_t>(t)] = e.what();
      }
    });
  for (std::thread& one : all) one.join();
  std::string together;
  for (const std::string& text : thrown) together += text;
  return together;
}

/// -u'' + u / 2 on a line.
csr_matrix<double> springs_in_a_row(int n) {
  triplets<double> t(n);
  for (int i = 0; i < n; ++i) {
    if (i == 0) {
      t.row({{0, 2.5}, {1, -1}});
    } else if (i == n - 1) {
      t.row({{n - 2, -1}, {n - 1, 2.5}});
    } else {
      t.row({{i - 1, -1}, {i, 2.5}, {i + 1, -1}});
    }
  }
  return t.matrix();
}

constexpr double rtol = 1e-8;
/// The solver looks at b - A x in double, with rounding of some epsilons times ||A|| ||x|| / ||b||, here below 10.
constexpr double residual_allowed = rtol * (1 + 1e-6);

/// A callback that copies r to z and, when it is called for the third time, does something else first.
struct meddling_callback {
  std::function<void()> meddle;
  int calls = 0;
  auto function() {
    return [this](whilst::stream_handle, index_type n, const double* r, double* z) {
      if (++calls == 3 && meddle) meddle();
      std::copy(r, r + n, z);
    };
  }
};

struct scaled_rows {  // an operator that throws at one row, where it is told to
  index_type n;
  const index_type* throws_at;
  index_type rows() const { return n; }
  int lanes_wanted() const { return 1; }
  template <class T, class Team>
  T row(index_type i, const T* x, const Team&) const {
    if (i == *throws_at) throw std::runtime_error("row " + std::to_string(i));
    return 2.5 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < n - 1 ? x[i + 1] : 0);
  }
};

struct set_to {
  const double* value;
  double* y;
  void operator()(index_type i) const { y[i] = *value; }
};

/// f = height (x_1 - x_0^2)^2 + (1 - x_0)^2, each with a height of its own.
struct valley {
  static constexpr int unknowns = 2;
  double height;
  template <class S>
  S operator()(index_type, const S* x) const {
    const S a = x[1] - x[0] * x[0], b = 1.0 - x[0];
    return height * (a * a) + b * b;
  }
};
struct valleys {
  valley of_problem(index_type k) const { return {1 + static_cast<double>(k)}; }
};

/// What a callback or a monitor does before its own work when it is called for the third time, in the midst of a solve.
struct meddler {
  std::function<void()> meddle;
  int calls = 0;
  void called() {
    if (++calls == 3 && meddle) meddle();
  }
};

/// A call that a solver refuses while it runs, and how its message begins.
struct refused_call {
  const char* doing;
  std::function<void()> call;
};
/// Checks each: left to itself, the exception comes out of the solve; caught where it is thrown, it changes nothing.
template <class Solver>
void check_refused_within(Solver& solver, meddler& within, const std::vector<double>& start,
                          const std::vector<refused_call>& refused) {
  for (const refused_call& one : refused) {
    INFO(one.doing);
    std::vector<double> x = start;
    within = {one.call};
    CHECK_THROWS_WITH(solver.solve(x), contains(std::string(one.doing) + ": ") &&
                                           contains("before that run has ended") && contains("of its own"));
    CHECK_FALSE(solver.progress().running);
    x = start;
    within = {[&one] { CHECK_THROWS_AS(one.call(), whilst::error); }};
    CHECK(solver.solve(x).converged());
    CHECK(within.calls >= 3);
  }
}

struct decay {
  static constexpr int parameters = 2, variables = 1;
  template <class S>
  S operator()(const S* b, const double* x) const {
    using std::exp;
    return b[0] * exp(b[1] * (-x[0]));
  }
};

}  // namespace

TEST_CASE("threads that share a linear solver each get their own solution", "[threads][sanitizer]") {
  const auto A = springs_in_a_row(400);
  for (const std::string& executor : executors()) {
    INFO(executor);
    linear_solver<double> solver(A, {.rtol = rtol, .executor = executor});
    std::atomic<int> wrong{0}, not_converged{0}, without_history{0};
    const std::string thrown = failures_on_threads(3, 300, [&](int t, int k) {
      const std::vector<double> b = random_vector<double>(A.rows(), static_cast<unsigned>(1000 * t + k));
      std::vector<double> x(b.size());
      const report r = solver.solve(b, x);
      not_converged += !r.converged();
      without_history += r.history().size() != static_cast<std::size_t>(r.iterations()) + 1;
      wrong += relative_residual(A, b, x) > residual_allowed;
    });
    CHECK(thrown == "");
    CHECK(not_converged == 0);
    CHECK(wrong == 0);
    CHECK(without_history == 0);
  }
}

TEST_CASE("a linear solver's settings may change on one thread while another solves", "[threads][sanitizer]") {
  const auto A = springs_in_a_row(300);
  std::vector<double> doubled(A.values().begin(), A.values().end());
  for (double& value : doubled) value *= 2;
  for (const std::string& executor : executors()) {
    INFO(executor);
    linear_solver<double> solver(A, {.rtol = rtol, .executor = executor});
    const std::vector<double> b = random_vector<double>(A.rows(), 3);
    std::atomic<int> wrong{0};
    const std::string thrown = failures_on_threads(2, 200, [&](int t, int k) {
      if (t == 0) {
        // Powers of two: x is that of A, or half of it, to the residual asked for.
        std::vector<double> x(b.size()), half(b.size());
        if (!solver.solve(b, x).converged()) ++wrong;
        for (double& value : x) value *= 2;
        std::vector<double> twice = x;
        for (double& value : half) value = 0;
        for (std::size_t i = 0; i < x.size(); ++i) half[i] = x[i] / 2;
        if (relative_residual(A, b, half) > residual_allowed && relative_residual(A, b, twice) > residual_allowed)
          ++wrong;
      } else if (k % 4 == 0) {
        solver.update_values(
            std::span<const double>(k % 8 == 0 ? doubled : std::vector<double>(A.values().begin(), A.values().end())));
      } else if (k % 4 == 1) {
        solver.set_tolerances(rtol / (1 + k % 3), 0);
      } else if (k % 4 == 2) {
        solver.set_max_iterations(1000 + k);
        solver.set_deadline(1e6 + k);
        solver.set_divergence(1e8 + k);
      } else {
        static_cast<void>(solver.bytes());
        static_cast<void>(solver.progress());
        static_cast<void>(solver.explain());
      }
    });
    CHECK(thrown == "");
    CHECK(wrong == 0);
  }
}

TEST_CASE("threads that share a batch solver each get their own solutions", "[threads][sanitizer]") {
  const auto A = springs_in_a_row(20);
  constexpr int systems = 8;
  std::vector<double> all;
  for (int k = 0; k < systems; ++k) all.insert(all.end(), A.values().begin(), A.values().end());
  whilst::batch_linear_solver<double> solver(A, systems, {.rtol = rtol});
  std::atomic<int> wrong{0};
  const std::string thrown = failures_on_threads(3, 100, [&](int t, int k) {
    // Each thread has values of its own: those of A times 1, 2 or 4.
    std::vector<double> values = all, b = random_vector<double>(systems * A.rows(), static_cast<unsigned>(100 * t + k));
    for (double& value : values) value *= 1 << t;
    std::vector<double> x(b.size());
    if (t == 2) solver.set_max_iterations(1000 + k);
    if (!solver.solve(values, b, x).all_converged()) ++wrong;
    for (int s = 0; s < systems; ++s) {
      std::vector<double> bs(b.begin() + s * 20, b.begin() + (s + 1) * 20),
          xs(x.begin() + s * 20, x.begin() + (s + 1) * 20);
      for (double& value : xs) value *= 1 << t;
      if (relative_residual(A, bs, xs) > residual_allowed) ++wrong;
    }
  });
  CHECK(thrown == "");
  CHECK(wrong == 0);
}

TEST_CASE("threads that share a minimizer, a nonlinear solver or a fit get what one gets", "[threads][sanitizer]") {
  SECTION("a minimizer") {
    // f = sum (x_i - i)^2 / 2
    constexpr index_type n = 50;
    whilst::called_objective<double> f(
        whilst::place::host(), n,
        [](whilst::stream_handle, index_type, const double* x, double* value, double* gradient) {
          *value = 0;
          for (index_type i = 0; i < n; ++i) {
            gradient[i] = x[i] - static_cast<double>(i);
            *value += gradient[i] * gradient[i] / 2;
          }
        });
    whilst::minimizer<double> minimizer(f, {.tolerances = {.gradient = 1e-9}, .executor = "host"});
    std::atomic<int> wrong{0};
    const std::string thrown = failures_on_threads(3, 100, [&](int t, int k) {
      std::vector<double> x = random_vector<double>(n, static_cast<unsigned>(100 * t + k));
      const whilst::minimize_report r = minimizer.solve(x);
      wrong += !r.converged() || r.records.empty();
      // ||x - (0, 1, ...)|| is the gradient's norm, made of numbers of size n.
      for (index_type i = 0; i < n; ++i)
        wrong += std::abs(x[static_cast<std::size_t>(i)] - static_cast<double>(i)) > 2e-9;
      if (t == 0) minimizer.set_tolerances({.gradient = 1e-9});
    });
    CHECK(thrown == "");
    CHECK(wrong == 0);
  }
  SECTION("a nonlinear solver") {
    // x_i^3 = i + 1
    constexpr index_type n = 20;
    whilst::called_equations<double> F(whilst::place::host(), n,
                                       [](whilst::stream_handle, index_type, const double* x, double* values) {
                                         for (index_type i = 0; i < n; ++i)
                                           values[i] = x[i] * x[i] * x[i] - static_cast<double>(i + 1);
                                       });
    whilst::nonlinear_solver<double> solver(
        F, {.method = "broyden", .tolerances = {.atol = 1e-9, .rtol = 0}, .max_iterations = 200, .executor = "host"});
    std::vector<double> expected(n, 2);
    const whilst::nonlinear_report alone = solver.solve(expected);
    std::atomic<int> wrong{0};
    const std::string thrown = failures_on_threads(3, 50, [&](int t, int) {
      std::vector<double> x(n, 2);
      const whilst::nonlinear_report r = solver.solve(x);
      wrong += r.reason() != alone.reason() || r.evaluations != alone.evaluations || x != expected;
      if (t == 0) solver.set_tolerances({.atol = 1e-9, .rtol = 0});
    });
    CHECK(thrown == "");
    CHECK(wrong == 0);
  }
  SECTION("a curve fit") {
    std::vector<double> at, flat(16, 3), steep;
    for (int i = 0; i < 16; ++i) at.push_back(0.25 * i), steep.push_back(3 * std::exp(-0.25 * i));
    whilst::curve_fit<double, decay> fit({}, at, steep, {.executor = "host"});
    std::atomic<int> wrong{0};
    const std::string thrown = failures_on_threads(3, 60, [&](int t, int k) {
      if (t == 0) return fit.update_data(at, k % 2 == 0 ? flat : steep);
      std::vector<double> b{2, 0.5};
      const whilst::least_squares_report r = fit.solve(b);
      // Both data are fitted exactly: to rounding of sums of 16 squares, below 1e-7 in either parameter.
      wrong += !r.converged() || std::abs(b[0] - 3) > 1e-7 || std::min(std::abs(b[1]), std::abs(b[1] - 1)) > 1e-7;
    });
    CHECK(thrown == "");
    CHECK(wrong == 0);
  }
}

TEST_CASE("threads that share a batch of fits get what one gets, to the bit", "[threads][sanitizer]") {
  constexpr index_type fits = 40, points = 12;
  std::vector<double> at, responses;
  for (index_type i = 0; i < points; ++i) at.push_back(0.3 * static_cast<double>(i));
  for (index_type k = 0; k < fits; ++k)
    for (const double t : at) responses.push_back((1 + 0.1 * static_cast<double>(k)) * std::exp(-0.7 * t));
  using residuals = whilst::curve_residuals_of_many<double, decay>;
  const auto on_host = [&](whilst::place) { return residuals{{}, points, at.data(), responses.data(), 1, points}; };
  whilst::least_squares_batch<double, residuals> batch(on_host, fits, {.executor = "host", .threads = 3});
  const auto start = [](int t) {
    std::vector<double> x;
    for (index_type k = 0; k < fits; ++k) x.insert(x.end(), {1.0 + t, 0.5});
    return x;
  };
  std::vector<std::vector<double>> expected;
  std::vector<double> iterations;
  for (int t = 0; t < 3; ++t) {
    expected.push_back(start(t));
    const whilst::least_squares_batch_report alone = batch.solve(expected.back());
    REQUIRE(alone.all_converged());
    iterations.push_back(alone.mean_iterations());
  }
  std::atomic<int> wrong{0};
  const std::string thrown = failures_on_threads(3, 100, [&](int t, int) {
    std::vector<double> x = start(t);
    const whilst::least_squares_batch_report r = batch.solve(x);
    const auto mine = static_cast<std::size_t>(t);
    wrong += x != expected[mine] || r.mean_iterations() != iterations[mine];
  });
  CHECK(thrown == "");
  CHECK(wrong == 0);
}

TEST_CASE("threads that share a batch of minimizations get what one gets, to the bit", "[threads][sanitizer]") {
  constexpr index_type problems = 40;
  using batch_type = whilst::minimizer_batch<double, valleys, whilst::method_list<whilst::bfgs>>;
  batch_type batch([](whilst::place) { return valleys{}; }, problems, {.executor = "host", .threads = 3});
  const auto start = [](int t) { return std::vector<double>(2 * problems, -1.0 - t); };
  std::vector<std::vector<double>> expected;
  std::vector<double> evaluations;
  for (int t = 0; t < 3; ++t) {
    expected.push_back(start(t));
    const whilst::minimizer_batch_report alone = batch.solve(expected.back());
    REQUIRE(alone.all_converged());
    evaluations.push_back(alone.mean_evaluations());
  }
  std::atomic<int> wrong{0};
  const std::string thrown = failures_on_threads(3, 50, [&](int t, int) {
    std::vector<double> x = start(t);
    const whilst::minimizer_batch_report r = batch.solve(x);
    const auto mine = static_cast<std::size_t>(t);
    wrong += x != expected[mine] || r.mean_evaluations() != evaluations[mine];
    if (t == 0) batch.set_deadline(1e6);
  });
  CHECK(thrown == "");
  CHECK(wrong == 0);
}

TEST_CASE("threads that share an eigenvalue solver get what one gets, to the bit", "[threads][sanitizer]") {
  const auto A = springs_in_a_row(40);
  const auto start = [&](int t) { return random_vector<double>(2 * A.rows(), static_cast<unsigned>(t)); };
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    whilst::eigenvalue_solver<double> solver(A, {.count = 2, .rtol = rtol, .executor = executor});
    std::vector<std::vector<double>> vectors, values;
    for (int t = 0; t < 3; ++t) {
      vectors.push_back(start(t));
      const whilst::eigenvalue_report alone = solver.solve(vectors.back());
      REQUIRE(alone.converged());
      values.push_back(alone.eigenvalues);
    }
    std::atomic<int> wrong{0};
    const std::string thrown = failures_on_threads(3, 20, [&](int t, int) {
      std::vector<double> X = start(t);
      const whilst::eigenvalue_report r = solver.solve(X);
      const auto mine = static_cast<std::size_t>(t);
      wrong += X != vectors[mine] || r.eigenvalues != values[mine];
      if (t == 0) solver.set_tolerance(rtol);
    });
    CHECK(thrown == "");
    CHECK(wrong == 0);
  }
}

TEST_CASE("an eigenvalue solver's values may change on one thread while another solves", "[threads][sanitizer]") {
  const auto A = springs_in_a_row(40);
  const std::vector<double> values(A.values().begin(), A.values().end());
  std::vector<double> doubled = values;
  for (double& value : doubled) value *= 2;
  // Rows of -1, 2.5, -1. The error is at most the residual's norm, and ||A|| is 4.5, or twice that.
  const double least = 2.5 - 2 * std::cos(std::numbers::pi / 41), error = 9 * residual_allowed;
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    whilst::eigenvalue_solver<double> solver(A, {.rtol = rtol, .executor = executor});
    std::atomic<int> wrong{0};
    const std::string thrown = failures_on_threads(2, 30, [&](int t, int k) {
      if (t == 1) return solver.update_values(std::span<const double>(k % 2 == 0 ? doubled : values));
      std::vector<double> x(40, 0);
      const whilst::eigenvalue_report r = solver.solve(x);
      const double found = r.converged() ? r.eigenvalues[0] : 0;
      wrong += std::min(std::abs(found - least), std::abs(found - 2 * least)) > error;
    });
    CHECK(thrown == "");
    CHECK(wrong == 0);
  }
}

TEST_CASE("threads that share a solver for several columns get what one gets, to the bit", "[threads][sanitizer]") {
  const auto A = springs_in_a_row(200);
  constexpr index_type columns = 3;
  const auto right_sides = [&](int t) { return random_vector<double>(columns * A.rows(), static_cast<unsigned>(t)); };
  for (const std::string& executor : executors())
    for (const std::string method : {"cg", "minres"}) {  // all columns at once, and one after another
      INFO(executor << ", " << method);
      whilst::columns_linear_solver<double> solver(A, columns, {.method = method, .rtol = rtol, .executor = executor});
      CHECK(solver.is_at_once() == (method == "cg" && executor != "resident"));
      std::vector<std::vector<double>> expected;
      for (int t = 0; t < 3; ++t) {
        expected.emplace_back(static_cast<std::size_t>(columns * A.rows()), 0.0);
        REQUIRE(solver.solve(right_sides(t), expected.back()).all_converged());
      }
      std::atomic<int> wrong{0};
      const std::string thrown = failures_on_threads(3, 30, [&](int t, int) {
        const std::vector<double>& mine = expected[static_cast<std::size_t>(t)];
        std::vector<double> X(mine.size(), 0);
        const whilst::columns_report r = solver.solve(right_sides(t), X);
        wrong += !r.all_converged() || X != mine;
        if (t == 0) solver.set_tolerances(rtol, 0);
        if (t == 1) solver.update_values(A.values());
      });
      CHECK(thrown == "");
      CHECK(wrong == 0);
    }
}

TEST_CASE("a limit or deadline set during a solve counts for all columns or for none, and is kept",
          "[threads][sanitizer]") {
  const auto A = springs_in_a_row(60);
  constexpr index_type columns = 8;
  const std::vector<double> column = random_vector<double>(A.rows(), 3);
  std::vector<double> B;
  for (index_type k = 0; k < columns; ++k) B.insert(B.end(), column.begin(), column.end());
  whilst::columns_linear_solver<double> solver(A, columns, {.method = "minres", .rtol = rtol, .executor = "host"});
  std::atomic<int> mixed{0}, solves{0};
  struct at_the_end {
    std::atomic<int>& solves;
    ~at_the_end() { solves = 100; }
  };
  const std::string thrown = failures_on_threads(2, 1, [&](int t, int) {
    if (t == 0) {
      const at_the_end of_all{solves};  // also if one throws
      for (; solves < 100; ++solves) {
        std::vector<double> X(B.size());
        const whilst::columns_report r = solver.solve(B, X);
        for (index_type each = 1; each < columns; ++each) mixed += r[each].iterations != r[0].iterations;
      }
    } else {
      // The last ones are set while a solve runs that began under others, so that its end may not bring these back.
      for (int limit = 0; solves < 50; limit = (limit + 1) % 3) {
        solver.set_max_iterations(limit);
        solver.set_deadline(limit == 0 ? 1e-9 : 1e6);
      }
      for (int from = solves; solves < 100 && solves == from;) {
        solver.set_max_iterations(0);
        solver.set_deadline(1e-9);
      }
      solver.set_max_iterations(1000);
      solver.set_deadline(1e6);
    }
  });
  CHECK(thrown == "");
  CHECK(mixed == 0);
  // The last ones set are 1000 and 1e6.
  std::vector<double> X(B.size());
  CHECK(solver.solve(B, X).all_converged());
}

TEST_CASE("threads that share a solver for an operator of one's own get what one gets", "[threads][sanitizer]") {
  constexpr index_type n = 300, throws_nowhere = -1;
  auto solver = whilst::make_operator_solver<whilst::conjugate_gradient, double>(
      scaled_rows{n, &throws_nowhere}, whilst::identity_preconditioner{}, {.rtol = rtol, .executor = "host"});
  const auto A = springs_in_a_row(n);
  std::vector<std::vector<double>> b, expected;
  for (int t = 0; t < 3; ++t) {
    b.push_back(random_vector<double>(n, static_cast<unsigned>(t)));
    expected.emplace_back(n, 0.0);
    REQUIRE(solver.solve(b.back(), expected.back()).converged());
    CHECK(relative_residual(A, b.back(), expected.back()) <= residual_allowed);
  }
  std::atomic<int> wrong{0};
  const std::string thrown = failures_on_threads(3, 100, [&](int t, int) {
    const auto mine = static_cast<std::size_t>(t);
    std::vector<double> x(n, 0);
    const report r = solver.solve(b[mine], x);
    wrong += !r.converged() || x != expected[mine];
    if (t == 0) solver.set_tolerances(rtol, 0);
  });
  CHECK(thrown == "");
  CHECK(wrong == 0);
}

TEST_CASE("a turn keeps other threads out of a program between setting and reading", "[threads][sanitizer]") {
  whilst::buffer<double> y(whilst::place::host(), 100);
  whilst::program_recorder record(whilst::place::host());
  const auto value = record.parameter<double>("value", 0.0);
  record.step("y = value", 100, set_to{value.get(), y.data()});
  whilst::program recorded = std::move(record).finish();
  recorded.prepare({});
  std::atomic<int> wrong{0};
  const std::string thrown = failures_on_threads(3, 2000, [&](int t, int k) {
    const whilst::turns::turn mine = recorded.enter("testing");
    recorded.set(value, 10.0 * k + t);
    recorded.enqueue(nullptr);
    for (int i = 0; i < 100; ++i) wrong += y.data()[i] != 10.0 * k + t;
  });
  CHECK(thrown == "");
  CHECK(wrong == 0);
}

TEST_CASE("code that a solve calls cannot solve or change values by the same solver", "[threads][sanitizer]") {
  const auto A = springs_in_a_row(300);
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  linear_solver<double>* itself = nullptr;
  std::vector<double> other(b.size());
  const std::vector<double> values(A.values().begin(), A.values().end());
  const std::vector<std::function<void()>> refused{
      [&] { static_cast<void>(itself->solve(b, other)); },
      [&] { static_cast<void>(itself->enqueue(nullptr, b.data(), other.data())); },
      [&] { itself->update_values(std::span<const double>(values)); },
      [&] { itself->bind_values(values.data()); },
  };
  for (const auto& meddle : refused) {
    meddling_callback callback;
    linear_solver<double> solver(A, callback.function(), {.rtol = rtol, .executor = "host"});
    itself = &solver;
    // Left to itself the exception comes out of the solve.
    callback.meddle = meddle;
    std::vector<double> x(b.size());
    CHECK_THROWS_WITH(solver.solve(b, x), contains("before that run has ended") && contains("of its own"));
    CHECK_FALSE(solver.progress().running);
    // Caught in the callback it changes nothing.
    callback.calls = 0;
    callback.meddle = [&] { CHECK_THROWS_AS(meddle(), whilst::error); };
    std::fill(x.begin(), x.end(), 0);
    CHECK(solver.solve(b, x).converged());
    CHECK(relative_residual(A, b, x) <= residual_allowed);
  }
  // What counts for later solves may be set, and another solver be used.
  linear_solver<double> another(A, {.executor = "host"});
  meddling_callback callback;
  linear_solver<double> solver(A, callback.function(), {.rtol = rtol, .executor = "host"});
  callback.meddle = [&] {
    solver.set_tolerances(rtol / 2, 0);
    solver.set_max_iterations(1);
    CHECK(another.solve(b, other).converged());
  };
  std::vector<double> x(b.size());
  CHECK(solver.solve(b, x).converged());
  CHECK(relative_residual(A, b, x) <= residual_allowed);
  std::fill(x.begin(), x.end(), 0);
  CHECK(solver.solve(b, x).reason() == whilst::reason::iteration_limit);
}

TEST_CASE("a monitor cannot have the solver solve, or change its values, either", "[threads][sanitizer]") {
  const auto A = springs_in_a_row(300);
  const std::vector<double> b = random_vector<double>(A.rows(), 5);
  const std::vector<double> values(A.values().begin(), A.values().end());
  std::vector<double> other(b.size());
  for (const std::string& executor : executors()) {
    INFO(executor);
    linear_solver<double> solver(A, {.rtol = rtol, .executor = executor});
    const whilst::buffer<double> more(executor == "host" ? whilst::place::host() : whilst::place::gpu(0), A.nonzeros());
    const std::vector<std::function<void()>> refused{
        [&] { static_cast<void>(solver.solve(b, other)); },
        [&] { solver.update_values(std::span<const double>(values)); },
        [&] { solver.bind_values(more.data()); },
    };
    for (const auto& meddle : refused) {
      // Under graph a monitor is called if a look finds the solve under way.
      index_type calls = 0;
      solver.set_monitor([&](const whilst::progress&) {
        ++calls;
        CHECK_THROWS_WITH(meddle(), contains("before that run has ended"));
      });
      std::vector<double> x(b.size());
      const report told = solver.solve(b, x);
      CHECK(told.converged());
      CHECK(relative_residual(A, b, x) <= residual_allowed);
      if (executor == "host") CHECK(calls == told.iterations());
    }
  }
}

TEST_CASE("a function that a minimizer calls cannot have it solve, nor can its monitor", "[threads][sanitizer]") {
  // f = sum (i + 1) (x_i - 1)^2 / 2
  constexpr index_type n = 10;
  meddler in_function, in_monitor;
  const whilst::called_objective<double> f(
      whilst::place::host(), n,
      [&](whilst::stream_handle, index_type, const double* x, double* value, double* gradient) {
        in_function.called();
        *value = 0;
        for (index_type i = 0; i < n; ++i) {
          gradient[i] = static_cast<double>(i + 1) * (x[i] - 1);
          *value += gradient[i] * (x[i] - 1) / 2;
        }
      });
  whilst::minimizer<double> minimizer(f, {.executor = "host"});
  std::vector<double> other(n);
  const std::vector<refused_call> refused{
      {"minimizing a function", [&] { static_cast<void>(minimizer.solve(other)); }},
      {"enqueueing a solve", [&] { static_cast<void>(minimizer.enqueue(nullptr, other.data())); }}};
  check_refused_within(minimizer, in_function, std::vector<double>(n, 5), refused);
  in_function = {};
  minimizer.set_monitor([&](const whilst::progress&) { in_monitor.called(); });
  check_refused_within(minimizer, in_monitor, std::vector<double>(n, 5), refused);
}

TEST_CASE("equations that a solver calls cannot have it solve, nor can its monitor", "[threads][sanitizer]") {
  // x_i^3 = i + 1
  constexpr index_type n = 10;
  meddler in_equations, in_monitor;
  const whilst::called_equations<double> F(whilst::place::host(), n,
                                           [&](whilst::stream_handle, index_type, const double* x, double* values) {
                                             in_equations.called();
                                             for (index_type i = 0; i < n; ++i)
                                               values[i] = x[i] * x[i] * x[i] - static_cast<double>(i + 1);
                                           });
  whilst::nonlinear_solver<double> solver(F, {.method = "broyden", .max_iterations = 200, .executor = "host"});
  std::vector<double> other(n, 2);
  const std::vector<refused_call> refused{
      {"solving equations", [&] { static_cast<void>(solver.solve(other)); }},
      {"enqueueing a solve", [&] { static_cast<void>(solver.enqueue(nullptr, other.data())); }}};
  check_refused_within(solver, in_equations, std::vector<double>(n, 2), refused);
  in_equations = {};
  solver.set_monitor([&](const whilst::progress&) { in_monitor.called(); });
  check_refused_within(solver, in_monitor, std::vector<double>(n, 2), refused);
}

TEST_CASE("a fit's monitor cannot have it fit, nor change its data", "[threads][sanitizer]") {
  std::vector<double> at, responses;
  for (int i = 0; i < 16; ++i) at.push_back(0.25 * i), responses.push_back(3 * std::exp(-at.back()));
  whilst::curve_fit<double, decay> fit({}, at, responses, {.executor = "host"});
  meddler in_monitor;
  fit.set_monitor([&](const whilst::progress&) { in_monitor.called(); });
  std::vector<double> other{2, 0.5};
  check_refused_within(fit, in_monitor, {2, 0.5},
                       {{"fitting", [&] { static_cast<void>(fit.solve(other)); }},
                        {"enqueueing a solve", [&] { static_cast<void>(fit.enqueue(nullptr, other.data())); }},
                        {"updating the data of a curve fit", [&] { fit.update_data(at, responses); }}});
}

TEST_CASE("an exception out of an operator comes out of solve, and the solver solves on", "[threads][sanitizer]") {
  for (const index_type n : {100, 300'000}) {
    index_type throws_at = n / 2;
    auto solver = whilst::make_operator_solver<whilst::conjugate_gradient, double>(
        scaled_rows{n, &throws_at}, whilst::identity_preconditioner{},
        {.rtol = rtol, .executor = "host", .threads = 3});
    const std::vector<double> b = random_vector<double>(n, 9);
    std::vector<double> x(b.size());
    CHECK_THROWS_WITH(solver.solve(b, x), "row " + std::to_string(n / 2));
    CHECK_FALSE(solver.progress().running);
    throws_at = -1;
    std::fill(x.begin(), x.end(), 0);
    CHECK(solver.solve(b, x).converged());
    CHECK(relative_residual(springs_in_a_row(static_cast<int>(n)), b, x) <= residual_allowed);
  }
}

}  // namespace whilst_test
