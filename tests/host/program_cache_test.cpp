// Linear solvers out of a cache: whatever was solved before, the answer is right, and what is recorded is counted.

#include "whilst/program_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver_options;
using whilst::program_cache;

namespace {

/// A tolerance that T can reach on well conditioned systems: rounding of a residual is some 10 epsilon of ||b||.
template <class T>
constexpr double reachable = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());

/// A system with a right-hand side of its own. Its solution, from zero, is checked by the residual recomputed here.
template <class T>
struct posed {
  csr_matrix<T> A;
  std::vector<T> b;
  explicit posed(csr_matrix<T> matrix, unsigned seed = 1) : A(std::move(matrix)), b(random_vector<T>(A.rows(), seed)) {}

  /// Empty, or what was wrong. solve(A, b, x, options) returns the report.
  template <class Solve>
  std::string wrong(const linear_solver_options& options, const Solve& solve) const {
    std::vector<T> x(b.size(), 0);
    const whilst::report told = solve(A, b, x, options);
    if (!told.converged()) return told.message();
    const double found = relative_residual(A, b, x);
    // Recomputed in double; the solver's own is in T, and both of its norms are rounded.
    if (!(found <= 2 * options.rtol)) return "the residual is " + std::to_string(found);
    return {};
  }
  std::string wrong_by(program_cache& cache, const linear_solver_options& options) const {
    return wrong(options, [&](auto&... all) { return cache.solve(all...); });
  }
};

template <class T>
posed<T> poisson(int cells, unsigned seed = 1) {
  return posed<T>(whilst::make_gallery<T>("poisson2d:" + std::to_string(cells)).matrix, seed);
}

/// The same pattern, in arrays of its own, with other values: still positive definite.
template <class T>
csr_matrix<T> scaled(const csr_matrix<T>& A, double factor) {
  std::vector<T> values(A.values().begin(), A.values().end());
  for (T& value : values) value = static_cast<T>(value * factor);
  const auto offsets = A.row_offsets_32();
  const auto columns = A.column_indices();
  return {A.rows(), A.columns(), std::vector<std::int32_t>(offsets.begin(), offsets.end()),
          std::vector<std::int32_t>(columns.begin(), columns.end()), values};
}

}  // namespace

TEMPLATE_TEST_CASE("larger, smaller again, then after a reset", "[cache][sanitizer]", float, double) {
  const auto small = poisson<TestType>(6), large = poisson<TestType>(under_sanitizers ? 16 : 40),
             resident_again = poisson<TestType>(6, 2);
  for (const std::string& executor : executors()) {
    for (const std::string& method : methods_on(executor)) {
      INFO(executor << ", " << method);
      const linear_solver_options options{
          .method = method, .preconditioner = "jacobi", .rtol = reachable<TestType>, .executor = executor};
      program_cache cache;
      for (int round = 0; round < (under_sanitizers ? 2 : 3); ++round) {
        INFO("round " << round);
        for (const auto* problem : {&small, &large, &resident_again, &large, &small})
          CHECK(problem->wrong_by(cache, options) == "");
        CHECK(cache.counters().records == 2 * (round + 1));
        CHECK(cache.counters().hits == 3 * (round + 1));
        CHECK(cache.counters().programs == 2);
        // The values alone of both copies of a matrix are as large.
        CHECK(cache.counters().bytes >= (small.A.nonzeros() + large.A.nonzeros()) * index_type{sizeof(TestType)});
        cache.reset();
        CHECK(cache.counters().programs == 0);
        CHECK(cache.counters().bytes == 0);
      }
    }
  }
}

TEST_CASE("whilst::solve keeps what it recorded until whilst::reset", "[cache]") {
  const auto problem = poisson<double>(7);
  const auto solve = [](auto&... all) { return whilst::solve(all...); };
  whilst::reset();
  const auto before = whilst::default_cache().counters();
  for (int i = 0; i < 3; ++i) CHECK(problem.wrong({}, solve) == "");
  const auto after = whilst::default_cache().counters();
  CHECK(after.records - before.records == 1);
  CHECK(after.hits - before.hits == 2);
  CHECK_THAT(whilst::default_cache().describe(), contains("cg, none, double"));
  CHECK_THAT(whilst::default_cache().describe(), contains("49 rows"));
  whilst::reset();
  CHECK(whilst::default_cache().counters().programs == 0);
  CHECK(problem.wrong({}, solve) == "");
  CHECK(whilst::default_cache().counters().records - after.records == 1);
  whilst::reset();
}

TEST_CASE("new values and right-hand sides record nothing, and count", "[cache]") {
  const auto first = poisson<double>(12);
  for (const std::string& executor : executors()) {
    INFO(executor);
    program_cache cache;
    const linear_solver_options options{.rtol = 1e-10, .executor = executor};
    CHECK(first.wrong_by(cache, options) == "");
    for (const double factor : {1.0, 3.0, 0.5, 0.5}) {
      const posed<double> other(scaled(first.A, factor), static_cast<unsigned>(10 * factor));
      CHECK(other.wrong_by(cache, options) == "");
      CHECK(first.wrong_by(cache, options) == "");
    }
    CHECK(cache.counters().records == 1);
    CHECK(cache.counters().hits == 8);

    // A user of the lease may leave other values behind.
    const std::vector<double> ones(static_cast<std::size_t>(first.A.nonzeros()), 1.0);
    cache.borrow(first.A, options)->update_values(ones);
    CHECK(first.wrong_by(cache, options) == "");
    CHECK(cache.counters().records == 1);
  }
}

TEST_CASE("tolerances, limits and deadlines are no part of the key, and are obeyed", "[cache]") {
  const auto problem = poisson<double>(12);
  for (const std::string& executor : executors()) {
    INFO(executor);
    program_cache cache;
    const auto solve = [&](linear_solver_options options) {
      options.executor = executor;
      std::vector<double> x(problem.b.size(), 0);
      return cache.solve(problem.A, problem.b, x, options);
    };
    CHECK(solve({.rtol = 1e-10}).converged());
    const whilst::report loose = solve({.rtol = 1e-2});
    CHECK(loose.reason() == whilst::reason::converged_rtol);
    CHECK(loose.relative_residual() > 1e-8);
    CHECK(solve({.rtol = 0, .atol = 1e-3}).reason() == whilst::reason::converged_atol);
    const whilst::report limited = solve({.rtol = 1e-10, .max_iterations = 3});
    CHECK(limited.reason() == whilst::reason::iteration_limit);
    CHECK(limited.iterations() == 3);
    CHECK(solve({.rtol = 1e-10, .dtol = 1e-3}).reason() == whilst::reason::divergence);
    CHECK(solve({.rtol = 1e-10, .deadline = 1e-9}).reason() == whilst::reason::deadline);
    CHECK(solve({.rtol = 1e-10}).converged());
    CHECK(cache.counters().records == 1);
    CHECK(cache.counters().hits == 6);

    // What is recorded differently is found by itself.
    CHECK(solve({.method = "bicgstab"}).method() == "bicgstab");
    CHECK(solve({.preconditioner = "jacobi"}).preconditioner() == "jacobi");
    CHECK(solve({.history_capacity = 4}).history().size() <= 4);
    CHECK(solve({.unroll = 3}).converged());
    CHECK(cache.counters().records == 5);
    CHECK(solve({.method = "cg"}).method() == "cg");
    CHECK(cache.counters().records == 5);
  }
}

TEST_CASE("patterns are told apart by their last entry, and by nothing that would be equal by chance", "[cache]") {
  // Diagonal, but for one entry in the last row, which comes last.
  constexpr int n = 50;
  const auto with_last = [](int column, double corner) {
    triplets<double> t(n);
    for (int i = 0; i < n - 1; ++i) t.row({{i, 2.0 + i % 3}});
    t.row({{n - 1, corner}, {column, 1}});
    return t.matrix();
  };
  const csr_matrix<double> left = with_last(0, 4), right = with_last(1, 4);
  CHECK_FALSE(left.has_pattern_of(right));
  CHECK(left.has_pattern_of(with_last(0, 5)));
  CHECK(left.has_pattern_of(csr_matrix<double>(left)));
  const auto offsets = left.row_offsets_32();
  const csr_matrix<double> wide(n, n, std::vector<std::int64_t>(offsets.begin(), offsets.end()),
                                std::vector<std::int32_t>(left.column_indices().begin(), left.column_indices().end()),
                                std::vector<double>(left.values().begin(), left.values().end()));
  CHECK_FALSE(left.has_pattern_of(wide));
  // Of matrices on a device the addresses count, and nothing is read there.
  const double numbers[2] = {};
  const auto* const at = reinterpret_cast<const std::int32_t*>(numbers);
  const auto* const wide_at = reinterpret_cast<const std::int64_t*>(numbers);
  const auto borrowed = csr_matrix<double>::on_device(2, 2, 2, at, at, numbers);
  CHECK(borrowed.has_pattern_of(csr_matrix<double>::on_device(2, 2, 2, at, at, numbers + 1)));
  CHECK_FALSE(borrowed.has_pattern_of(csr_matrix<double>::on_device(2, 2, 2, wide_at, at, numbers)));
  CHECK_FALSE(borrowed.has_pattern_of(csr_matrix<double>::on_device(2, 2, 2, at, at + 1, numbers)));
  CHECK_FALSE(borrowed.has_pattern_of(csr_matrix<double>::on_device(2, 2, 1, at, at, numbers)));
  CHECK_FALSE(borrowed.has_pattern_of(left));
  for (const std::string& executor : executors()) {
    INFO(executor);
    const linear_solver_options options{.method = "bicgstab", .rtol = 1e-12, .executor = executor};
    program_cache cache;
    for (int round = 0; round < 2; ++round)
      for (const auto& A : {left, right, wide}) CHECK(posed<double>(A).wrong_by(cache, options) == "");
    CHECK(cache.counters().records == 3);
    CHECK(cache.counters().hits == 3);
    // And float is not double.
    const auto single = poisson<float>(5);
    const auto twice = poisson<double>(5);
    CHECK(single.wrong_by(cache, {.rtol = 1e-4, .executor = executor}) == "");
    CHECK(twice.wrong_by(cache, {.rtol = 1e-4, .executor = executor}) == "");
    CHECK(cache.counters().records == 5);
  }
}

TEST_CASE("limits of a cache of solvers", "[cache]") {
  std::vector<posed<double>> problems;
  for (const int cells : {5, 6, 7, 8}) problems.push_back(poisson<double>(cells));
  for (const std::string& executor : executors()) {
    INFO(executor);
    const linear_solver_options options{.executor = executor};
    program_cache cache({.programs = 2});
    const auto solve = [&](std::size_t k) { CHECK(problems[k].wrong_by(cache, options) == ""); };
    for (const std::size_t k : {0U, 1U, 0U, 2U, 0U, 3U, 0U}) solve(k);
    CHECK(cache.counters().hits == 3);
    CHECK(cache.counters().records == 4);
    CHECK(cache.counters().evictions == 2);
    CHECK_THAT(cache.describe(), contains("25 rows") && contains("64 rows"));

    const index_type bytes = cache.counters().bytes;
    cache.set_limits({.bytes = bytes - 1});
    CHECK(cache.counters().programs == 1);
    CHECK(cache.counters().bytes < bytes);
    cache.set_limits({.programs = 0});
    CHECK(cache.counters().programs == 0);
    solve(1);
    solve(1);
    CHECK(cache.counters().programs == 0);
    CHECK(cache.counters().hits == 3);
  }
}

TEST_CASE("what cannot be meant is refused with the same words, whatever is kept", "[cache]") {
  const auto problem = poisson<double>(5);
  program_cache cache;
  std::vector<double> x(25, 0.0), short_x(24, 0.0);
  for (int round = 0; round < 2; ++round) {
    const auto solve = [&](const linear_solver_options& options) { cache.solve(problem.A, problem.b, x, options); };
    CHECK_THROWS_WITH(solve({.method = "gmress"}), contains("there is no method called 'gmress'"));
    CHECK_THROWS_WITH(solve({.preconditioner = "magic"}), contains("there is no preconditioner called 'magic'"));
    CHECK_THROWS_AS(solve({.executor = "abacus"}), whilst::error);
    CHECK_THROWS_WITH(solve({.executor = "batch"}), contains("batch_linear_solver"));
    CHECK_THROWS_WITH(solve({.rtol = -1}), contains("a tolerance is negative"));
    CHECK_THROWS_WITH(solve({.dtol = std::nan("")}), contains("dtol"));
    CHECK_THROWS_WITH(solve({.max_iterations = -1}), contains("max_iterations"));
    CHECK_THROWS_WITH(solve({.deadline = 0}), contains("deadline"));
    CHECK_THROWS_WITH(solve({.history_capacity = 1}), contains("history_capacity"));
    CHECK(cache.counters().programs == round);
    CHECK_THROWS_WITH(cache.solve(problem.A, problem.b, short_x), contains("x has 24"));
    CHECK(cache.counters().on_lease == 0);
    CHECK(problem.wrong_by(cache, {}) == "");
  }
  CHECK(cache.counters().records == 1);
  const csr_matrix<double> flat(1, 2, std::vector<std::int32_t>{0, 1}, std::vector<std::int32_t>{0},
                                std::vector<double>{1});
  CHECK_THROWS_WITH(cache.solve(flat, problem.b, x), contains("Give a square one"));
  CHECK_THROWS_WITH(cache.borrow(problem.A)->update_values(poisson<double>(6).A), contains("the same pattern"));
}

TEST_CASE("a system without rows, and numbers that are none", "[cache]") {
  const csr_matrix<double> empty(0, 0, std::vector<std::int32_t>{0}, std::vector<std::int32_t>{},
                                 std::vector<double>{});
  const auto problem = poisson<double>(5);
  for (const std::string& executor : executors()) {
    INFO(executor);
    program_cache cache;
    std::vector<double> none;
    CHECK(cache.solve(empty, none, none, {.executor = executor}).converged());
    CHECK(cache.solve(empty, none, none, {.executor = executor}).converged());
    CHECK(cache.counters().hits == 1);
    // A solve that goes wrong leaves nothing behind.
    std::vector<double> x(25, std::nan(""));
    CHECK(cache.solve(problem.A, problem.b, x, {.executor = executor}).reason() == whilst::reason::nan_or_infinity);
    CHECK(problem.wrong_by(cache, {.executor = executor}) == "");
    CHECK(cache.counters().hits == 2);
  }
}

namespace {

/// Threads that solve through one cache at once: problems of three shapes with values and right-hand sides of each
/// thread's own. Returns what was wrong, one line each.
std::vector<std::string> solve_from_threads(program_cache& cache, const std::string& executor, int threads,
                                            int solves_each) {
  std::vector<std::string> wrong;
  std::mutex lock;
  std::vector<std::thread> running;
  const csr_matrix<double> shared = whilst::make_gallery<double>("poisson2d:9").matrix;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
#if defined(_OPENMP)
      omp_set_num_threads(1);
#endif
      const auto seed = static_cast<unsigned>(100 * t);
      const posed<double> mine[] = {posed<double>(shared, seed), posed<double>(scaled(shared, 1 + t), seed + 1),
                                    poisson<double>(5, seed + 2),
                                    posed<double>(convection_diffusion<double>(40), seed)};
      for (int k = 0; k < solves_each; ++k) {
        const std::size_t which = static_cast<std::size_t>(k + t) % std::size(mine);
        const linear_solver_options options{
            .method = which == 3 ? "bicgstab" : "cg", .rtol = k % 2 ? 1e-6 : 1e-10, .executor = executor};
        std::string problem;
        try {
          problem = mine[which].wrong_by(cache, options);
        } catch (const std::exception& e) {
          problem = e.what();
        }
        if (problem.empty()) continue;
        const std::lock_guard hold(lock);
        wrong.push_back("thread " + std::to_string(t) + ", solve " + std::to_string(k) + ": " + problem);
      }
    });
  for (std::thread& one : running) one.join();
  return wrong;
}

/// Runs them and checks what holds however they meet.
void check_threads(program_cache& cache, const std::string& executor, int threads, int solves_each) {
  INFO(executor);
  const auto before = cache.counters();
  const std::vector<std::string> wrong = solve_from_threads(cache, executor, threads, solves_each);
  CHECK(wrong.size() == 0);
  if (!wrong.empty()) FAIL_CHECK(wrong.front());
  const auto after = cache.counters();
  CHECK(after.hits + after.records - before.hits - before.records == threads * solves_each);
  CHECK(after.on_lease == 0);
  CHECK(after.programs <= cache.limits().programs);
  // Three shapes; of each at most as many as there are threads.
  if (cache.limits().programs >= 3 * threads) CHECK(after.records - before.records <= 3 * threads);
}

}  // namespace

TEST_CASE("threads solve through one cache", "[cache][threads][sanitizer]") {
  for (const std::string& executor : executors()) {
    program_cache roomy, narrow({.programs = 2}), none({.programs = 0});
    check_threads(roomy, executor, 4, 6);
    check_threads(narrow, executor, 4, 6);
    check_threads(none, executor, 3, 2);
  }
}

TEST_CASE("threads solve while others reset, describe and change the limits", "[cache][threads]") {
  program_cache cache;
  std::atomic<bool> ended = false;
  std::thread meddling([&] {
    for (index_type k = 0; !ended; ++k) {
      if (k % 3 == 0) cache.reset();
      if (k % 5 == 0) cache.set_limits({.programs = k % 4});
      (void)cache.describe();
      (void)cache.counters();
      std::this_thread::yield();
    }
  });
  const auto wrong = solve_from_threads(cache, "host", 4, 40);
  ended = true;
  meddling.join();
  CHECK(wrong.size() == 0);
  if (!wrong.empty()) FAIL_CHECK(wrong.front());
  cache.reset();
  CHECK(cache.counters().programs == 0);
  CHECK(cache.counters().bytes == 0);
  CHECK(cache.counters().on_lease == 0);
}

#if WHILST_WITH_CUDA

namespace {

bool no_gpu() {
  if (whilst::cuda::device_count() > 0) return false;
  WARN("no GPU: left out");
  return true;
}

double free_bytes() {
  std::size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  return static_cast<double>(free);
}

}  // namespace

TEST_CASE("8 threads, 1000 solves each, through one cache: all right, and no memory is lost",
          "[cache][threads][gpu][alone]") {
  if (no_gpu()) return;
  program_cache cache;
  for (const char* executor : {"graph", "resident"}) {
    INFO(executor);
    // As many recordings as there may be at once, and all that the driver keeps for so many.
    const auto warm_up = [&] {
      const csr_matrix<double> matrices[] = {poisson<double>(9).A, poisson<double>(5).A,
                                             convection_diffusion<double>(40)};
      std::vector<whilst::lease<whilst::linear_solver<double>>> held;
      for (int t = 0; t < 8; ++t)
        for (const auto& A : matrices) {
          held.push_back(
              cache.borrow(A, {.method = A.rows() == 40 ? "bicgstab" : "cg", .rtol = 1e-10, .executor = executor}));
          std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0), x(b.size(), 0.0);
          CHECK(held.back()->solve(b, x).converged());
        }
    };
    warm_up();
    check_threads(cache, executor, 8, 20);
    cache.reset();
    // Others on the GPU may take memory meanwhile, but not each time.
    double least_lost = 1e18;
    for (int attempt = 0; attempt < 5 && least_lost > 0; ++attempt) {
      const double before = free_bytes();
      check_threads(cache, executor, 8, 1000);
      cache.reset();
      least_lost = std::min(least_lost, before - free_bytes());
    }
    CHECK(least_lost <= 0);
  }
}

TEST_CASE("threads enqueue on streams of their own by leases", "[cache][threads][gpu][sanitizer]") {
  if (no_gpu()) return;
  program_cache cache;
  std::atomic<int> right = 0;
  std::vector<std::thread> running;
  constexpr int threads = 4, rounds = 5;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      try {
        const auto where = whilst::place::gpu(0);
        const whilst::cuda::stream stream = whilst::cuda::make_stream();
        for (int k = 0; k < rounds; ++k) {
          const auto problem = poisson<double>(8 + k % 2, static_cast<unsigned>(10 * t + k));
          whilst::buffer<double> b(where, problem.A.rows()), x(where, problem.A.rows());
          b.upload(problem.b.data());
          const auto solver = cache.borrow(problem.A, {.rtol = 1e-10, .executor = "graph"});
          const auto ticket = solver->enqueue(stream.get(), b.data(), x.data());
          std::vector<double> found(problem.b.size());
          if (!ticket.wait().converged()) continue;
          x.download(found.data());
          if (relative_residual(problem.A, problem.b, found) <= 2e-10) ++right;
        }
      } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
      }
    });
  for (std::thread& one : running) one.join();
  CHECK(right == threads * rounds);
  CHECK(cache.counters().on_lease == 0);
  CHECK(cache.counters().records <= 2 * threads);
}

TEST_CASE("matrices in device memory are found again by where their pattern lies", "[cache][gpu]") {
  if (no_gpu()) return;
  const auto where = whilst::place::gpu(0);
  const auto problem = poisson<double>(12);
  const csr_matrix<double>& A = problem.A;
  whilst::buffer<std::int32_t> offsets(where, A.rows() + 1), columns(where, A.nonzeros()),
      elsewhere(where, A.nonzeros());
  whilst::buffer<double> values(where, A.nonzeros()), doubled(where, A.nonzeros());
  offsets.upload(A.row_offsets_32().data());
  columns.upload(A.column_indices().data());
  elsewhere.upload(A.column_indices().data());
  values.upload(A.values().data());
  const csr_matrix<double> twice = scaled(A, 2);
  doubled.upload(twice.values().data());
  for (const char* executor : {"graph", "stream", "resident"}) {
    INFO(executor);
    program_cache cache;
    const auto check = [&](const csr_matrix<double>& meant, const std::int32_t* at, const double* with) {
      const auto on_device =
          csr_matrix<double>::on_device(A.rows(), A.columns(), A.nonzeros(), offsets.data(), at, with);
      std::vector<double> x(problem.b.size(), 0);
      CHECK(cache.solve(on_device, problem.b, x, {.rtol = 1e-10, .executor = executor}).converged());
      CHECK(relative_residual(meant, problem.b, x) <= 2e-10);
    };
    check(A, columns.data(), values.data());
    check(twice, columns.data(), doubled.data());
    check(A, columns.data(), values.data());
    CHECK(cache.counters().records == 1);
    check(A, elsewhere.data(), values.data());
    CHECK(cache.counters().records == 2);
    // A matrix on the host is another's.
    CHECK(problem.wrong_by(cache, {.rtol = 1e-10, .executor = executor}) == "");
    CHECK(cache.counters().records == 3);
    CHECK(cache.counters().hits == 2);
  }
}

// Hidden, since it takes the context from all other tests: the next one runs it in a process of its own.
TEST_CASE("a context is destroyed and what was recorded in it refused", "[.][destroys-the-context]") {
  const auto problem = poisson<double>(9), another = poisson<double>(7);
  const auto solve = [](auto&... all) { return whilst::solve(all...); };
  for (const std::string executor : {"graph", "stream", "resident"}) {
    INFO(executor);
    const linear_solver_options options{.rtol = 1e-10, .executor = executor};
    std::vector<double> x(problem.b.size(), 0.0);
    auto of_own = std::make_unique<whilst::linear_solver<double>>(problem.A, options);
    CHECK(of_own->solve(problem.b, x).converged());
    auto never_used = std::make_unique<whilst::linear_solver<double>>(problem.A, options);
    auto on_lease = std::make_unique<whilst::lease<whilst::linear_solver<double>>>(
        whilst::default_cache().borrow(another.A, options));
    CHECK(problem.wrong(options, solve) == "");
    CHECK(problem.wrong(options, solve) == "");
    auto on_gpu = std::make_unique<whilst::buffer<double>>(whilst::place::gpu(0), problem.A.rows());
    const whilst::ticket ticket = of_own->enqueue(nullptr, on_gpu->data(), on_gpu->data());
    ticket.wait();
    CHECK_FALSE(of_own->is_lost());

    REQUIRE(cudaDeviceReset() == cudaSuccess);

    // Memory that is likely to lie where the solvers' was: nobody may write to it or release it.
    constexpr index_type entries = 1000;
    std::vector<whilst::buffer<double>> others;
    const std::vector<double> sevens(entries, 7.0);
    for (int i = 0; i < 200; ++i) {
      others.emplace_back(whilst::place::gpu(0), entries);
      others.back().upload(sevens.data());
    }
    CHECK(of_own->is_lost());
    CHECK(never_used->is_lost());
    CHECK((*on_lease)->is_lost());
    for (int i = 0; i < 2; ++i) {
      CHECK_THROWS_WITH(problem.wrong(options, solve), contains("context") && contains("whilst::reset()"));
      CHECK_THROWS_WITH(of_own->solve(problem.b, x), contains("context") && contains("whilst::reset()"));
      CHECK_THROWS_WITH(never_used->solve(problem.b, x), contains("context"));
      CHECK_THROWS_WITH(of_own->enqueue(nullptr, on_gpu->data(), on_gpu->data()), contains("context"));
      CHECK_THROWS_WITH(of_own->update_values(problem.A.values()), contains("context"));
      CHECK_THROWS_WITH(of_own->progress(), contains("context"));
      CHECK_THROWS_WITH(of_own->cancel(), contains("context"));
      CHECK_THROWS_WITH(ticket.wait(), contains("context"));
      CHECK(ticket.done());
      CHECK_THROWS_WITH(on_gpu->upload(problem.b.data()), contains("context"));
    }
    // What is new works all the while.
    CHECK(poisson<double>(11).wrong(options, solve) == "");

    whilst::reset();
    CHECK(problem.wrong(options, solve) == "");
    on_lease.reset();
    of_own.reset();
    never_used.reset();
    on_gpu.reset();
    CHECK(problem.wrong(options, solve) == "");
    CHECK(another.wrong(options, solve) == "");
    for (const auto& one : others) {
      std::vector<double> found(entries);
      one.download(found.data());
      CHECK((found == sevens));
    }
    whilst::reset();
  }
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("after a context was destroyed a clear exception, and reset cures it", "[cache][gpu]") {
  if (no_gpu()) return;
  const auto ran = run_program(std::filesystem::read_symlink("/proc/self/exe").string(), {"[destroys-the-context]"});
  INFO(ran.out << ran.err);
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, contains("All tests passed"));
}

#endif

}  // namespace whilst_test
