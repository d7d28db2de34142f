// Methods that iterate with a scaled matrix, or with one whose values are rounded.

#include <cmath>
#include <limits>
#include <memory>

#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/rectangular/transpose_on_place.hpp"
#include "solvers/linear/scaling/substituted_matrix.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/linear/matrix_on_place.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::place;
using whilst::report;
using whilst::scaling_kind;

namespace {

/// The same pattern with other values.
template <class T>
csr_matrix<T> with_values(const csr_matrix<T>& A, const std::vector<T>& values) {
  return {A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values};
}

/// Entry i of D: from 1e-decades to 1e+decades.
double bad_scale(index_type i, double decades) {
  return std::pow(10, decades * std::sin(2.0 * static_cast<double>(i + 1)));
}
/// D B E, where E is 1, or D where `both`.
template <class T>
csr_matrix<T> badly_scaled(const csr_matrix<T>& B, double decades, bool both) {
  const auto factor = [&](index_type i) { return bad_scale(i, decades); };
  std::vector<T> values(B.values().begin(), B.values().end());
  for (index_type i = 0; i < B.rows(); ++i)
    for (index_type k = B.row_offset(i); k < B.row_offset(i + 1); ++k) {
      const auto at = static_cast<std::size_t>(k);
      const double value = factor(i) * static_cast<double>(values[at]);
      values[at] = static_cast<T>(both ? value * factor(B.column_indices()[at]) : value);
    }
  return with_values(B, values);
}

/// D u for a random u: a right-hand side that such a matrix can reach within rounding.
template <class T>
std::vector<T> badly_scaled_vector(index_type n, double decades) {
  std::vector<T> made = random_vector<T>(n, 5);
  for (index_type i = 0; i < n; ++i) {
    T& entry = made[static_cast<std::size_t>(i)];
    entry = static_cast<T>(bad_scale(i, decades) * static_cast<double>(entry));
  }
  return made;
}

/// Products with the matrix that methods iterate with, in one program with what scales it.
template <class T>
class scaled_product {
 public:
  scaled_product(const csr_matrix<T>& A, scaling_kind scaling, const std::string& format, const std::string& executor,
                 bool in_float = false, bool wide = false)
      : where_(executor == "host" ? place::host() : place::gpu(0)),
        placed_(A, where_, true),
        wide_offsets_(A.row_offsets_32().begin(), A.row_offsets_32().end()),
        wide_rows_(where_, A.rows() + 1, wide_offsets_.data()),
        transpose_(A, where_, wide),
        given_(where_, A.nonzeros(), A.values().data()),
        given_at_(given_.data()),
        slot_(where_, 1, &given_at_),
        x_(where_, A.rows()),
        y_(where_, A.rows()) {
    whilst::solve_request<T> request = placed_.request();
    if (wide) {
      request.offsets_64 = true;
      request.row_offsets = wide_rows_.data();
    }
    transpose_.put_into(request);
    if (format != "csr") formatted_ = whilst::make_formatted_matrix<T>(format, A, request, in_float);
    matrix_ = whilst::make_substituted_matrix<T>(scaling, request, formatted_.get(), in_float);
    whilst::program_recorder record(where_);
    record.arena([&](whilst::arena_layout& memory) {
      matrix_->read_values_from({slot_.data()});
      matrix_->take_memory(memory);
    });
    matrix_->prepare(record);
    matrix_->substitute().B->apply(record, x_.data(), y_.data());
    run_ = std::make_unique<whilst::program>(std::move(record).finish());
    run_->prepare({.how = whilst::executor_from_name(executor)});
  }
  void set_values(const std::vector<T>& values) { given_.upload(values.data()); }
  std::vector<T> operator()(const std::vector<T>& x) {
    x_.upload(x.data());
    run_->enqueue(nullptr);
    run_->wait();
    std::vector<T> y(x.size());
    y_.download(y.data());
    return y;
  }

 private:
  place where_;
  whilst::matrix_on_place<T> placed_;
  std::vector<std::int64_t> wide_offsets_;
  buffer<std::int64_t> wide_rows_;
  whilst::transpose_on_place<T> transpose_;
  buffer<T> given_;
  const T* given_at_;
  buffer<const T*> slot_;
  buffer<T> x_, y_;
  std::unique_ptr<whilst::formatted_matrix<T>> formatted_;
  std::unique_ptr<whilst::linear_operator<T>> matrix_;
  std::unique_ptr<whilst::program> run_;
};

/// The matrix that methods iterate with, column by column.
template <class T>
Eigen::MatrixXd substitute_of(const csr_matrix<T>& A, scaling_kind scaling, const std::string& format,
                              const std::string& executor, bool in_float = false, bool wide = false) {
  scaled_product<T> product(A, scaling, format, executor, in_float, wide);
  Eigen::MatrixXd made(A.rows(), A.rows());
  for (Eigen::Index j = 0; j < made.cols(); ++j) {
    std::vector<T> unit(static_cast<std::size_t>(A.rows()), T(0));
    unit[static_cast<std::size_t>(j)] = 1;
    made.col(j) = to_eigen(product(unit));
  }
  return made;
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

template <class T>
std::vector<T> ones(const csr_matrix<T>& A) {
  return std::vector<T>(static_cast<std::size_t>(A.rows()), T(1));
}

std::string refusal(const csr_matrix<double>& A, const linear_solver_options& options) {
  try {
    linear_solver<double> solver(A, options);
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

}  // namespace

TEMPLATE_TEST_CASE("a scaled matrix has the sizes that its kind of scaling promises", "[scaling][sanitizer]", float,
                   double) {
  const bool is_symmetric = GENERATE(true, false);
  const csr_matrix<TestType> base =
      is_symmetric ? whilst::make_gallery<TestType>("poisson2d:6").matrix : convection_diffusion<TestType>(40);
  // Squares of factors, 1e-16 to 1e16, fit float, too.
  const csr_matrix<TestType> A = badly_scaled(base, 8, is_symmetric);
  const Eigen::MatrixXd dense = to_eigen(A).toDense();
  for (const std::string& executor : executors_with_steps())
    for (const std::string format : {"csr", "sell"})
      for (const auto kind : {scaling_kind::rows, scaling_kind::symmetric, scaling_kind::equilibrate}) {
        INFO(executor << ", " << format << ", kind " << static_cast<int>(kind));
        const Eigen::MatrixXd B = substitute_of(A, kind, format, executor);
        // B = R A C, digit for digit: one entry of C is free, the rest follows along the diagonals.
        const bool is_same = kind == scaling_kind::symmetric || is_symmetric;
        Eigen::VectorXd R(A.rows()), C = Eigen::VectorXd::Ones(A.rows());
        for (Eigen::Index i = 0; i < A.rows(); ++i) {
          const double both = B(i, i) / dense(i, i);
          CHECK(is_power_of_two(both));
          if (kind != scaling_kind::rows && is_same) C(i) = std::sqrt(both);
          if (kind != scaling_kind::rows && !is_same && i > 0) C(i) = B(i - 1, i) / dense(i - 1, i) / R(i - 1);
          R(i) = both / C(i);
        }
        CHECK(B == R.asDiagonal() * dense * C.asDiagonal());
        if (kind == scaling_kind::symmetric) {
          // Each scale is rounded down to a power of two, so that twice it would be too much.
          CHECK(B.diagonal().cwiseAbs().maxCoeff() <= 1);
          CHECK(B.diagonal().cwiseAbs().minCoeff() > 0.25);
        } else {
          const Eigen::VectorXd of_rows = B.cwiseAbs().rowwise().maxCoeff();
          CHECK(of_rows.minCoeff() > (kind == scaling_kind::rows ? 0.5 : 0.2));
          CHECK(of_rows.maxCoeff() <= (kind == scaling_kind::rows ? 1 : 1.2));
        }
        if (kind == scaling_kind::equilibrate) {
          const Eigen::VectorXd of_columns = B.cwiseAbs().colwise().maxCoeff();
          CHECK(of_columns.minCoeff() > 0.2);
          CHECK(of_columns.maxCoeff() <= 1.2);
        }
        if (is_symmetric && kind != scaling_kind::rows) CHECK(B == B.transpose());
      }
}

TEST_CASE("products of a format see the values that a step has just scaled", "[scaling][sanitizer]") {
  // Of more blocks than a GPU runs at once, with other values in each run.
  const auto A = whilst::make_gallery<double>("powerlaw:200000").matrix;
  const auto n = static_cast<std::size_t>(A.rows());
  const std::vector<double> ones(n, 1);
  for (const std::string& executor : executors_with_steps()) {
    scaled_product<double> by_csr(A, scaling_kind::rows, "csr", executor);
    scaled_product<double> by_format(A, scaling_kind::rows, "balanced", executor);
    for (const double factor : {1.0, 1.5, -1.25}) {
      INFO(executor << ", values times " << factor);
      std::vector<double> values(A.values().begin(), A.values().end());
      for (double& value : values) value *= factor;
      by_csr.set_values(values);
      by_format.set_values(values);
      // Rows are scaled to entries of about 1, of which there are up to n / 8: their sums differ in order.
      const Eigen::VectorXd difference = to_eigen(by_csr(ones)) - to_eigen(by_format(ones));
      CHECK(difference.lpNorm<Eigen::Infinity>() <= 1e-16 * static_cast<double>(n) / 8 * 4);
    }
  }
}

TEST_CASE("rounded values are those of float", "[scaling]") {
  const csr_matrix<double> A = badly_scaled(convection_diffusion<double>(40), 3, true);
  const Eigen::MatrixXd dense = to_eigen(A).toDense();
  for (const std::string& executor : executors_with_steps())
    for (const std::string format : {"sell", "ell"}) {
      INFO(executor << ", " << format);
      const Eigen::MatrixXd B = substitute_of(A, scaling_kind::none, format, executor, true);
      CHECK(B == dense.cast<float>().cast<double>());
      CHECK(B != dense);
    }
}

TEMPLATE_TEST_CASE("scaled solves reach the tolerance of the matrix that was given", "[scaling]", float, double) {
  constexpr bool is_float = sizeof(TestType) == 4;
  const double rtol = is_float ? 1e-4 : 1e-10;
  struct scaled_case {
    const char *method, *scaling, *preconditioner;
  };
  const std::vector<scaled_case> symmetric{{"cg", "symmetric", "none"},          {"cg", "equilibrate", "none"},
                                           {"cg", "symmetric", "jacobi"},        {"minres", "symmetric", "none"},
                                           {"cr", "equilibrate", "none"},        {"pipelined-cg", "symmetric", "none"},
                                           {"flexible-cg", "symmetric", "none"}, {"auto", "symmetric", "none"}};
  const std::vector<scaled_case> unsymmetric{{"bicgstab", "rows", "none"},
                                             {"bicgstab", "equilibrate", "jacobi"},
                                             {"gmres", "rows", "none"},
                                             {"gmres", "symmetric", "none"},
                                             {"fgmres", "equilibrate", "none"},
                                             {"idr", "rows", "none"},
                                             {"bicgstabl", "symmetric", "none"},

                                             {"auto", "rows", "none"}};
  const double decades = is_float ? 1 : 3;
  for (const bool is_symmetric : {true, false}) {
    const csr_matrix<TestType> base =
        is_symmetric ? whilst::make_gallery<TestType>("poisson2d:20").matrix : convection_diffusion<TestType>(100);
    const csr_matrix<TestType> A = badly_scaled(base, decades, is_symmetric);
    const std::vector<TestType> b = badly_scaled_vector<TestType>(A.rows(), decades);
    for (const auto& [method, scaling, preconditioner] : is_symmetric ? symmetric : unsymmetric)
      for (const std::string& executor : executors_with_steps()) {
        INFO(method << ", " << scaling << ", " << preconditioner << ", " << executor);
        linear_solver_options options{.method = method, .preconditioner = preconditioner, .executor = executor};
        options.scaling = scaling;
        options.rtol = rtol;
        std::vector<TestType> x(b.size(), TestType(0));
        const report result = linear_solver<TestType>(A, options).solve(b, x);
        INFO(result.message());
        REQUIRE(result.converged());
        // The solver's own residual is rounded as A x is.
        CHECK(relative_residual(A, b, x) <= rtol * (is_float ? 1.1 : 1 + 1e-3));
        CHECK(result.relative_residual() <= rtol);
        CHECK(result.history().front().residual_norm == Approx(result.rhs_norm()));
      }
  }
}

TEST_CASE("scaling saves the iterations that bad scales cost", "[scaling]") {
  const csr_matrix<double> good = whilst::make_gallery<double>("poisson2d:20").matrix,
                           bad = badly_scaled(good, 3, true);
  const auto iterations = [&](const csr_matrix<double>& A, const std::string& scaling) {
    const std::vector<double> b = badly_scaled_vector<double>(A.rows(), 3);
    std::vector<double> x(b.size(), 0.0);
    linear_solver_options options{.rtol = 1e-8, .max_iterations = 5000, .executor = "host"};
    options.scaling = scaling;
    const report result = linear_solver<double>(A, options).solve(b, x);
    return result.converged() ? result.iterations() : options.max_iterations;
  };
  const index_type of_good = iterations(good, "none"), of_bad = iterations(bad, "none");
  CHECK(of_bad > 20 * of_good);
  // The residual is that of the bad matrix, so restarts are needed.
  CHECK(iterations(bad, "symmetric") <= 4 * of_good);
  CHECK(iterations(bad, "equilibrate") <= 4 * of_good);
}

TEST_CASE("scales are found anew for other values", "[scaling]") {
  const csr_matrix<double> one = badly_scaled(whilst::make_gallery<double>("poisson2d:8").matrix, 2, true),
                           other = badly_scaled(whilst::make_gallery<double>("poisson2d:8").matrix, -2.5, true);
  const std::vector<double> b = badly_scaled_vector<double>(one.rows(), 2);
  for (const std::string& executor : executors_with_steps())
    for (const std::string format : {"csr", "sell", "balanced"})
      for (const std::string scaling : {"symmetric", "equilibrate"}) {
        INFO(executor << ", " << format << ", " << scaling);
        linear_solver_options options{.format = format, .rtol = 1e-9, .executor = executor};
        options.scaling = scaling;
        linear_solver<double> solver(one, options), fresh(other, options);
        std::vector<double> x(b.size(), 0.0), expected(b.size(), 0.0);
        REQUIRE(solver.solve(b, x).converged());
        solver.update_values(other);
        std::fill(x.begin(), x.end(), 0.0);
        REQUIRE(solver.solve(b, x).converged());
        REQUIRE(fresh.solve(b, expected).converged());
        CHECK(x == expected);
        // The same solve once more, from the scales of this one.
        std::fill(x.begin(), x.end(), 0.0);
        REQUIRE(solver.solve(b, x).converged());
        CHECK(x == expected);
      }
}

TEST_CASE("solves with values in float reach what double can", "[scaling]") {
  // No value of this matrix is a float.
  std::vector<double> thirds;
  const csr_matrix<double> base = whilst::make_gallery<double>("poisson2d:20").matrix;
  for (const double value : base.values()) thirds.push_back(value / 3);
  const csr_matrix<double> A = with_values(base, thirds);
  const std::vector<double> b = random_vector<double>(A.rows(), 3);
  for (const std::string& executor : executors_with_steps())
    for (const std::string method : {"cg", "minres", "bicgstab", "gmres", "auto"})
      for (const std::string format : {"auto", "sell", "ell"})
        for (const std::string scaling : {"none", "symmetric"}) {
          INFO(executor << ", " << method << ", " << format << ", " << scaling);
          linear_solver_options options{.method = method, .format = format, .rtol = 1e-12, .executor = executor};
          options.scaling = scaling;
          options.matrix_values = "float";
          std::vector<double> x(b.size(), 0.0);
          const report result = linear_solver<double>(A, options).solve(b, x);
          REQUIRE(result.converged());
          CHECK(relative_residual(A, b, x) <= 1.001 * options.rtol);
          CHECK(result.format() == (format == "ell" ? "ell" : "sell"));
        }
}

TEST_CASE("values that float cannot hold stay in double", "[scaling]") {
  const csr_matrix<double> base = whilst::make_gallery<double>("poisson2d:12").matrix;
  for (const double size : {1e-60, 1e60, 1e-300}) {
    std::vector<double> values;
    for (const double value : base.values()) values.push_back(value / 3 * size);
    const csr_matrix<double> A = with_values(base, values);
    const std::vector<double> b = random_vector<double>(A.rows(), 2);
    for (const std::string& executor : executors_with_steps()) {
      INFO(executor << ", " << size);
      linear_solver_options options{.rtol = 1e-10, .executor = executor};
      options.matrix_values = "float";
      std::vector<double> x(b.size(), 0.0);
      CHECK(linear_solver<double>(A, options).solve(b, x).converged());
      CHECK(relative_residual(A, b, x) <= 1.001 * options.rtol);
    }
  }
}

TEST_CASE("values that are bound are scaled, in both widths of offsets", "[scaling]") {
  const csr_matrix<double> A = badly_scaled(whilst::make_gallery<double>("poisson2d:8").matrix, 2, true);
  std::vector<double> negative;
  for (const double value : A.values()) negative.push_back(-value);
  const std::vector<double> b = badly_scaled_vector<double>(A.rows(), 2);
  for (const std::string& executor : executors_with_steps()) {
    INFO(executor);
    linear_solver_options options{.executor = executor};
    options.scaling = "symmetric";
    linear_solver<double> solver(A, options);
    const place where = executor == "host" ? place::host() : place::gpu(0);
    const buffer<double> bound(where, A.nonzeros(), negative.data());
    std::vector<double> x(b.size(), 0.0), of_negative(b.size(), 0.0);
    REQUIRE(solver.solve(b, x).converged());
    solver.bind_values(bound.data());
    // The sign of A is new, too: a product with the values of the solve before would find another one.
    for (int again = 0; again < 5; ++again) {
      std::fill(of_negative.begin(), of_negative.end(), 0.0);
      REQUIRE(solver.solve(b, of_negative).converged());
      for (std::size_t i = 0; i < x.size(); ++i) CHECK(of_negative[i] == -x[i]);
    }
  }
  const Eigen::MatrixXd narrow = substitute_of(A, scaling_kind::equilibrate, "csr", "host");
  CHECK(narrow == substitute_of(A, scaling_kind::equilibrate, "csr", "host", false, true));
}

TEST_CASE("a scaled solve that is cancelled hands back what it says", "[scaling]") {
  // Rows that differ by 1e12: the norm that the method lowers says little of the residual.
  const csr_matrix<double> A = badly_scaled(whilst::make_gallery<double>("poisson2d:30").matrix, 6, false);
  const std::vector<double> b = random_vector<double>(A.rows(), 8);
  const double rhs_norm = to_eigen(b).norm(), epsilon = std::numeric_limits<double>::epsilon();
  for (const std::string& executor : executors_with_steps())
    for (const double deadline : {1e-6, 1e-4, 3e-4, 1e-3, 3e-3}) {
      INFO(executor << ", " << deadline);
      linear_solver_options options{.method = "bicgstab", .rtol = 1e-14, .executor = executor};
      options.scaling = "rows";
      options.deadline = deadline;
      std::vector<double> x(b.size(), 0.0);
      const report result = linear_solver<double>(A, options).solve(b, x);
      CHECK(result.relative_residual() <= 1);
      // What sums of products round in a residual, in any order.
      const double rounding = 2 * epsilon * (to_eigen(A).cwiseAbs() * to_eigen(x).cwiseAbs()).norm();
      CHECK(relative_residual(A, b, x) * rhs_norm <= 1.001 * result.residual_norm() + rounding);
    }
}

/// Twice the identity, whose methods iterate with another operator.
class doubled final : public whilst::linear_operator<double> {
 public:
  doubled(std::shared_ptr<whilst::linear_operator<double>> A, std::shared_ptr<whilst::linear_operator<double>> B)
      : A_(std::move(A)), B_(std::move(B)) {}
  place where() const override { return A_->where(); }
  index_type rows() const override { return A_->rows(); }
  void apply(whilst::recorder& run, const double* x, double* y) const override { A_->apply(run, x, y); }
  whilst::substitute_operator<double> substitute() override { return {B_.get(), nullptr, nullptr, 1e-2}; }

 private:
  std::shared_ptr<whilst::linear_operator<double>> A_, B_;
};

TEST_CASE("an operator of one's own may name a substitute", "[scaling]") {
  int exact = 0, rough = 0;
  const auto times = [](int& count, double error) {
    return [&count, error](whilst::stream_handle, index_type n, const double* x, double* y) {
      ++count;
      for (index_type i = 0; i < n; ++i) y[i] = (2 + error * static_cast<double>(i % 3)) * x[i];
    };
  };
  const std::vector<double> b(40, 1.0);
  for (const char* method : {"cg", "bicgstab", "gmres"}) {
    exact = rough = 0;
    std::vector<double> x(40, 0.0);
    const auto A =
        std::make_shared<doubled>(whilst::make_called_operator<double>(place::host(), 40, times(exact, 0)),
                                  whilst::make_called_operator<double>(place::host(), 40, times(rough, 1e-3)));
    const report result =
        linear_solver<double>(A, nullptr, {.method = method, .rtol = 1e-12, .executor = "host"}).solve(b, x);
    INFO(method << ": " << exact << " exact products, " << rough << " rough ones");
    CHECK(result.converged());
    for (const double value : x) CHECK(std::abs(value - 0.5) <= 1e-12);
    // Each restart has one exact product, and brings about three digits.
    CHECK(exact <= 8);
    CHECK(rough >= exact);
    CHECK_THROWS_WITH(
        (linear_solver<double>(A, nullptr, {.method = method, .preconditioner = "jacobi", .executor = "host"})),
        contains("jacobi"));
  }
}

TEST_CASE("matrices at the ends of the range, and matrices that have no scales", "[scaling]") {
  for (const std::string scaling : {"rows", "symmetric", "equilibrate"})
    for (const std::string& executor : executors_with_steps()) {
      INFO(scaling << ", " << executor);
      linear_solver_options options{.method = "gmres", .rtol = 1e-8, .max_iterations = 300, .executor = executor};
      options.scaling = scaling;
      const auto solved = [&](const csr_matrix<double>& A, std::vector<double>& x) {
        x.assign(static_cast<std::size_t>(A.rows()), 0.0);
        return linear_solver<double>(A, options).solve(ones(A), x);
      };
      std::vector<double> x;
      for (const double size : {1e-290, 1e290}) {
        triplets<double> t(3);
        t.row({{0, 2 * size}, {1, size}});
        t.row({{0, -1}, {1, 3}});
        t.row({{2, 1 / size}});
        INFO("size " << size);
        const csr_matrix<double> A = t.matrix();
        const report result = solved(A, x);
        for (const double value : x) CHECK(std::isfinite(value));
        if (result.converged()) CHECK(relative_residual(A, ones(A), x) <= 1.001 * options.rtol);
      }
      // An empty row and an empty column: singular, and inconsistent with b.
      triplets<double> empty(3);
      empty.row({{0, 2}, {1, 1}});
      empty.row({});
      empty.row({{0, 1}, {1, 5}});
      CHECK_FALSE(solved(empty.matrix(), x).converged());
      for (const double value : x) CHECK(std::isfinite(value));
      triplets<double> bad(2);
      bad.row({{0, std::numeric_limits<double>::quiet_NaN()}, {1, 1}});
      bad.row({{1, 1}});
      CHECK(solved(bad.matrix(), x).reason() == whilst::reason::nan_or_infinity);
      CHECK(solved(triplets<double>(0).matrix(), x).converged());
    }
}

TEST_CASE("a negative definite matrix is scaled and solved", "[scaling]") {
  std::vector<double> negative;
  const csr_matrix<double> base = badly_scaled(whilst::make_gallery<double>("poisson2d:10").matrix, 2, true);
  for (const double value : base.values()) negative.push_back(-value);
  const csr_matrix<double> A = with_values(base, negative);
  for (const std::string& executor : executors_with_steps()) {
    linear_solver_options options{.executor = executor};
    options.scaling = "equilibrate";
    std::vector<double> x(static_cast<std::size_t>(A.rows()), 0.0);
    const std::vector<double> b = badly_scaled_vector<double>(A.rows(), 2);
    CHECK(linear_solver<double>(A, options).solve(b, x).converged());
    CHECK(relative_residual(A, b, x) <= 1.001 * options.rtol);
  }
}

TEST_CASE("method auto takes no symmetric method where rows are scaled", "[scaling]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:8").matrix;
  linear_solver_options options{.method = "auto", .executor = "host"};
  options.scaling = "rows";
  std::vector<double> x(64, 0.0);
  const report result = linear_solver<double>(A, options).solve(ones(A), x);
  CHECK(result.converged());
  CHECK(result.choice() == "bicgstab, since scaling rows destroys symmetry");
}

TEST_CASE("what does not go with another matrix is refused by name", "[scaling]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:4").matrix;
  linear_solver_options options{.executor = "host"};
  const auto scaled = [&](const std::string& scaling, auto change) {
    linear_solver_options made = options;
    made.scaling = scaling;
    change(made);
    return refusal(A, made);
  };
  CHECK(scaled("column", [](auto&) {}) ==
        "making a linear solver: there is no scaling called 'column'. Use one of none, rows, symmetric, equilibrate");
  CHECK(scaled("none", [](auto& made) { made.matrix_values = "half"; }) ==
        "making a linear solver: there are no matrix_values called 'half'. Use one of exact, float");
  CHECK(scaled("rows", [](auto&) {}) ==
        "making a linear solver: scaling rows destroys symmetry, which method cg needs. Use scaling symmetric or "
        "equilibrate, or another method");
  CHECK(scaled("symmetric", [](auto& made) { made.method = "lsqr"; }) ==
        "making a linear solver: scaling symmetric has no products with the transpose, which method lsqr needs. Leave "
        "the option out, or use another method");
  CHECK(
      scaled("symmetric", [](auto& made) { made.null_space = "constant"; }) ==
      "making a linear solver: scaling symmetric does not go with a null space, which is that of the matrix as it is. "
      "Leave out one of the two");
  CHECK(scaled("none", [](auto& made) {
          made.matrix_values = "float";
          made.format = "bsr";
        }) == "making a linear solver: format bsr does not hold values in float. Use format sell, ell or auto");
  CHECK(scaled("symmetric", [](auto& made) { made.method = "refined-cg"; }) ==
        "making a linear solver: method refined-cg has a copy in float of the matrix as it is, without scaling "
        "symmetric. Use flexible-cg or cg");
  CHECK(
      scaled("symmetric",
             [](auto& made) {
               made.method = "chebyshev";
               made.greatest_eigenvalue = 8;
             }) ==
      "making a linear solver: least_eigenvalue and greatest_eigenvalue are not those of the scaled matrix. Leave them "
      "at 0 to have them estimated, or leave scaling out");
  // Values of float are not rounded: nothing is refused, and nothing else changes.
  linear_solver_options of_float{.method = "lsqr", .executor = "host"};
  of_float.matrix_values = "float";
  CHECK_NOTHROW(linear_solver<float>(whilst::make_gallery<float>("poisson2d:4").matrix, of_float));
  options.scaling = "symmetric";
  const auto thrown = [](auto make) -> std::string {
    try {
      make();
    } catch (const whilst::error& problem) {
      return problem.what();
    }
    return "no exception";
  };
  const auto copies = [](whilst::stream_handle, index_type n, const double* from, double* to) {
    std::copy(from, from + n, to);
  };
  CHECK(thrown([&] { linear_solver<double>(A, copies, options); }) ==
        "making a linear solver: scaling symmetric changes the matrix that your preconditioner is for. Leave scaling "
        "out, or use preconditioner jacobi");
  CHECK(thrown([&] { linear_solver<double>(5, copies, options); }) ==
        "making a linear solver: scaling symmetric is of a matrix, and there is none. Leave the option out, or give a "
        "matrix");
  CHECK(thrown([&] { whilst::batch_linear_solver<double>(A, 3, options); }) ==
        "making a batch solver: scaling symmetric is done by steps for one large system, and a batch is one "
        "kernel. Leave the option out, or use a linear_solver for each system");
  options.executor = "resident";
  CHECK_THAT(refusal(A, options), contains("scaling symmetric is done by steps") || contains("executor resident"));
}

TEST_CASE("several columns are solved one by one with another matrix", "[scaling]") {
  const csr_matrix<double> A = badly_scaled(whilst::make_gallery<double>("poisson2d:8").matrix, 2, true);
  linear_solver_options options{.executor = "host"};
  options.scaling = "symmetric";
  whilst::columns_linear_solver<double> solver(A, 2, options);
  const std::vector<double> b = badly_scaled_vector<double>(2 * A.rows(), 2);
  std::vector<double> x(b.size(), 0.0);
  solver.solve(b, x);
  const auto n = static_cast<std::ptrdiff_t>(A.rows());
  for (const std::ptrdiff_t k : {0, 1}) {
    const std::vector<double> of_b(b.begin() + k * n, b.begin() + (k + 1) * n),
        of_x(x.begin() + k * n, x.begin() + (k + 1) * n);
    CHECK(relative_residual(A, of_b, of_x) <= 1.001 * options.rtol);
  }
}

TEST_CASE("a correction of an x that was not the best is not added to the one that was", "[linear]") {
  // A scaled residual may fall while the true one rises: the solve goes on from x and keeps the better one. If it ends
  // in mid-loop, d corrects x.
  using steps = whilst::linear_solve_steps<double, whilst::composed_operator<double>, whilst::detail::any_method>;
  typename steps::scalars s{};
  s.rhs_norm = 1;
  s.to_x = 1;
  s.best_norm = 0.5;
  s.pending = 1;
  whilst::control inner{};
  inner.residual_norm = 0.25;
  const double x = 1, d = 10, kept = 2;
  for (const bool may_rise : {false, true}) {
    s.take_back = 1;
    CHECK_FALSE(steps::is_worth_adding(&s, &inner, may_rise));
    CHECK(steps::handed_back(&s, &inner, may_rise, &x, &d, &kept) == kept);
    s.take_back = 0;
    CHECK(steps::is_worth_adding(&s, &inner, may_rise));
    CHECK(steps::handed_back(&s, &inner, may_rise, &x, &d, &kept) == x + d);
  }
}

}  // namespace whilst_test
