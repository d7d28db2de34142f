// compiled by nvcc where CUDA is on
// Methods that iterate with the matrix in another order: option `permutation`.
#define EIGEN_NO_CUDA
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>

#include "solvers/linear/permutation/permutation.hpp"
#include "solvers/linear/permutation/permuted_matrix.hpp"
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

namespace {

/// Six entries in most rows, none on the diagonal, of sizes up to 10^decades; large ones three columns on.
template <class T>
csr_matrix<T> with_empty_diagonal(int n, int decades = 4, unsigned seed = 5) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  triplets<T> t(n);
  for (int i = 0; i < n; ++i) {
    const double size = std::pow(10.0, i % (decades + 1));
    std::vector<std::pair<int, double>> row{{(i + 3) % n, 6 * size}};
    for (int k = 0; k < 5; ++k)
      if (const int j = static_cast<int>(generator() % static_cast<unsigned>(n)); j != i)
        row.emplace_back(j, value(generator) * size);
    t.row(row);
  }
  return t.matrix();
}

/// Rows and columns of a matrix in an order that mixes them up.
template <class T>
csr_matrix<T> shuffled(const csr_matrix<T>& A) {
  std::vector<int> place(static_cast<std::size_t>(A.rows()));
  std::iota(place.begin(), place.end(), 0);
  std::mt19937 generator(11);
  for (std::size_t k = place.size(); k > 1; --k) std::swap(place[k - 1], place[generator() % k]);
  const Eigen::Map<Eigen::VectorXi> indices(place.data(), static_cast<Eigen::Index>(place.size()));
  const Eigen::PermutationMatrix<Eigen::Dynamic> P(indices);
  const Eigen::SparseMatrix<double, Eigen::RowMajor> B = P * to_eigen(A) * P.transpose();
  triplets<T> t(A.rows());
  for (Eigen::Index i = 0; i < B.rows(); ++i) {
    std::vector<std::pair<int, double>> row;
    for (Eigen::SparseMatrix<double, Eigen::RowMajor>::InnerIterator e(B, i); e; ++e)
      row.emplace_back(static_cast<int>(e.col()), e.value());
    t.row(row);
  }
  return t.matrix();
}

template <class T>
csr_matrix<T> same_pattern(const csr_matrix<T>& A, const std::vector<T>& values) {
  return {A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values};
}
/// Every value times 1 to 1.75, in turn.
template <class T>
std::vector<T> other_values(const csr_matrix<T>& A) {
  std::vector<T> values(A.values().begin(), A.values().end());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] *= static_cast<T>(1 + 0.25 * static_cast<double>(k % 4));
  return values;
}

template <class T>
std::vector<T> times_one(const csr_matrix<T>& A) {
  const Eigen::VectorXd b = to_eigen(A) * Eigen::VectorXd::Ones(A.rows());
  std::vector<T> result(static_cast<std::size_t>(A.rows()));
  std::transform(b.begin(), b.end(), result.begin(), [](double value) { return static_cast<T>(value); });
  return result;
}

template <class T>
struct copy_entries {
  const T* from;
  T* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from[i]; }
};

struct outcome_of {
  std::vector<double> x;
  report told;
};
outcome_of solved(const csr_matrix<double>& A, const std::vector<double>& b, const linear_solver_options& options) {
  outcome_of made{std::vector<double>(b.size(), 0.0), {}};
  made.told = linear_solver<double>(A, options).solve(b, made.x);
  return made;
}
linear_solver_options permuted_by(const std::string& permutation, const std::string& method,
                                  const std::string& preconditioner, const std::string& executor = "host") {
  linear_solver_options options{.method = method, .preconditioner = preconditioner, .executor = executor};
  options.permutation = permutation;
  return options;
}

std::string refused(const csr_matrix<double>& A, const linear_solver_options& options) {
  try {
    linear_solver<double> solver(A, options);
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

}  // namespace

TEMPLATE_TEST_CASE("a permuted matrix is P R A C Q, with large entries on its diagonal", "[permutation][sanitizer]",
                   float, double) {
  const csr_matrix<TestType> A = with_empty_diagonal<TestType>(300);
  const std::vector<TestType> others = other_values(A);
  for (const bool wide : {false, true})
    for (const std::string& executor : executors_with_steps())
      for (const std::string& name : whilst::permutation_names()) {
        if (name == "none") continue;
        INFO(name << ", " << executor << (wide ? ", 64 bits" : ""));
        const place where = executor == "host" ? place::host() : place::gpu(0);
        const whilst::matrix_on_place<TestType> placed(A, where, true);
        whilst::solve_request<TestType> request = placed.request();
        request.offsets_64 = wide;
        const auto made = whilst::make_permuted_matrix<TestType>("testing", name, A, request);
        const whilst::permutation found = whilst::find_permutation("testing", name, A);

        const Eigen::MatrixXd dense = to_eigen(A).toDense(), B = to_eigen(made->pattern()).toDense();
        const auto n = static_cast<std::size_t>(A.rows());
        std::vector<int> seen_rows(n, 0), seen_columns(n, 0);
        double worst = 0;
        for (Eigen::Index k = 0; k < B.rows(); ++k) {
          const auto row = found.rows[static_cast<std::size_t>(k)];
          ++seen_rows[static_cast<std::size_t>(row)];
          ++seen_columns[static_cast<std::size_t>(found.columns[static_cast<std::size_t>(k)])];
          for (Eigen::Index l = 0; l < B.cols(); ++l) {
            const double of_A = dense(row, found.columns[static_cast<std::size_t>(l)]);
            if ((B(k, l) == 0) != (of_A == 0)) worst = std::numeric_limits<double>::infinity();
            int exponent = 0;  // the scales are powers of two
            if (of_A != 0 && std::frexp(B(k, l) / of_A, &exponent) != 0.5) worst = 1;
          }
        }
        CHECK(worst == 0);
        bool ascends = true;
        for (index_type k = 0; k < A.rows(); ++k) {
          const auto columns = made->pattern().column_indices();
          ascends = ascends && std::is_sorted(columns.begin() + made->pattern().row_offset(k),
                                              columns.begin() + made->pattern().row_offset(k + 1));
        }
        CHECK(ascends);
        CHECK(std::all_of(seen_rows.begin(), seen_rows.end(), [](int times) { return times == 1; }));
        CHECK(std::all_of(seen_columns.begin(), seen_columns.end(), [](int times) { return times == 1; }));
        if (name.starts_with("matching")) {
          // Each of two scales is off by a factor of at most sqrt(2).
          CHECK(B.diagonal().cwiseAbs().minCoeff() > 0.499);
          CHECK(B.cwiseAbs().maxCoeff() < 2.001);
        } else {
          CHECK(found.rows == found.columns);
        }

        // Steps write the same values as the host did, and other ones.
        buffer<TestType> of_A(where, A.nonzeros(), A.values().data());
        const TestType* const at = of_A.data();
        const buffer<const TestType*> slot(where, 1, &at);
        whilst::program_recorder record(where);
        made->record_values(record, {slot.data()}, made->R(), made->C());
        const buffer<TestType> copy(where, A.nonzeros());
        record.step("copy", A.nonzeros(), copy_entries<TestType>{made->request().values, copy.data()});
        whilst::program run = std::move(record).finish();
        run.prepare({.how = whilst::executor_from_name(executor)});
        for (const std::vector<TestType>& values : {others, {A.values().begin(), A.values().end()}}) {
          of_A.upload(values.data());
          run.enqueue(nullptr);
          run.wait();
          std::vector<TestType> now(values.size());
          copy.download(now.data());
          CHECK(now == made->values_from(values.data()));
        }
      }
}

TEST_CASE("two rows are exchanged by hand", "[permutation]") {
  triplets<double> t(2);
  t.row({{1, 2}});
  t.row({{0, 3}, {1, 1}});
  const whilst::permutation found = whilst::find_permutation("testing", "matching", t.matrix());
  CHECK(found.rows == std::vector<std::int32_t>{0, 1});
  CHECK(found.columns == std::vector<std::int32_t>{1, 0});
  for (const std::string& executor : executors_with_steps()) {
    linear_solver<double> solver(t.matrix(), permuted_by("matching", "gmres", "jacobi", executor));
    std::vector<double> x(2, 0.0);
    CHECK(solver.solve({4, 5}, x).converged());  // 2 y = 4, 3 x + y = 5
    CHECK(x[0] == Approx(1));
    CHECK(x[1] == Approx(2));
  }
}

TEMPLATE_TEST_CASE("permuted solves reach the tolerance of the matrix that was given", "[permutation]", float, double) {
  struct one {
    const char *permutation, *method, *preconditioner, *scaling, *format;
  };
  const std::vector<one> unsymmetric{{"matching", "gmres", "jacobi", "none", "auto"},
                                     {"matching", "bicgstab", "none", "none", "csr"},
                                     {"matching", "idr", "jacobi", "none", "sell"},
                                     {"matching_rcm", "bicgstab", "jacobi", "none", "balanced"},
                                     {"matching_degree", "fgmres", "jacobi", "none", "ell"},
                                     {"matching", "bicgstabl", "spai", "none", "csr"},
                                     {"matching_rcm", "bicgstab", "block_jacobi", "none", "csr"},
                                     {"matching", "gmres", "ilu", "none", "csr"},
                                     {"matching", "gmres", "ssor", "none", "csr"},
                                     {"matching", "tfqmr", "jacobi", "equilibrate", "csr"},
                                     {"matching_rcm", "gmres", "none", "rows", "sell"},
                                     {"matching", "auto", "auto", "none", "auto"}};
  const std::vector<one> symmetric{{"rcm", "cg", "jacobi", "none", "csr"},
                                   {"degree", "cg", "none", "none", "ell"},
                                   {"rcm", "minres", "none", "none", "csr"},
                                   {"rcm", "cg", "jacobi", "symmetric", "sell"},
                                   {"rcm", "pipelined-cg", "jacobi", "none", "auto"},
                                   {"degree", "cr", "none", "equilibrate", "csr"},
                                   {"rcm", "cg", "ic", "none", "csr"},
                                   {"rcm", "cg", "fsai", "none", "csr"},
                                   {"rcm", "cg", "amg", "none", "csr"},
                                   {"rcm", "cg", "chebyshev", "none", "csr"},
                                   {"rcm", "auto", "none", "none", "auto"}};
  constexpr bool is_float = sizeof(TestType) == 4;
  const double rtol = is_float ? 1e-4 : 1e-10;
  for (const bool is_symmetric : {false, true}) {
    const csr_matrix<TestType> A = is_symmetric ? shuffled(whilst::make_gallery<TestType>("poisson2d:20").matrix)
                                                : with_empty_diagonal<TestType>(700, is_float ? 1 : 4);
    const std::vector<TestType> b = times_one(A);
    for (const one& of : is_symmetric ? symmetric : unsymmetric) {
      std::vector<TestType> of_stream;  // and of graph: the same bits
      for (const std::string& executor : executors_with_steps()) {
        INFO(of.permutation << ", " << of.method << ", " << of.preconditioner << ", " << of.scaling << ", " << of.format
                            << ", " << executor);
        linear_solver_options options = permuted_by(of.permutation, of.method, of.preconditioner, executor);
        options.scaling = of.scaling;
        options.format = of.format;
        options.rtol = rtol;
        linear_solver<TestType> solver(A, options);
        std::vector<TestType> x(b.size(), TestType(0));
        const report result = solver.solve(b, x);
        INFO(result.message());
        REQUIRE(result.converged());
        // The solver's own residual is rounded as A x is.
        CHECK(relative_residual(A, b, x) <= rtol * (is_float ? 1.1 : 1 + 1e-3));
        CHECK(result.relative_residual() <= rtol);
        CHECK(result.history().front().residual_norm == Approx(result.rhs_norm()));
        // Solved already; and once more, the same bits.
        std::vector<TestType> again = x;
        CHECK(solver.solve(b, again).iterations() == 0);
        CHECK(again == x);
        std::fill(again.begin(), again.end(), TestType(0));
        solver.solve(b, again);
        CHECK(again == x);
        if (executor == "host") continue;
        if (of_stream.empty()) of_stream = x;
        CHECK(x == of_stream);
      }
    }
  }
}

TEST_CASE("a permuted solve is the solve of the permuted matrix", "[permutation]") {
  // The same numbers in another order: sums round differently.
  const csr_matrix<double> symmetric = shuffled(whilst::make_gallery<double>("poisson2d:24").matrix),
                           unsymmetric = shuffled(convection_diffusion<double>(600));
  struct one {
    bool is_symmetric;
    const char *method, *preconditioner;
  };
  for (const one& of :
       {one{true, "cg", "none"}, one{true, "cg", "jacobi"}, one{true, "cg", "fsai"}, one{true, "cg", "block_jacobi"},
        one{true, "cg", "ssor"}, one{true, "cg", "ic"}, one{true, "cg", "amg,coarsest_rows=64"},
        one{true, "cg", "chebyshev"}, one{true, "minres", "schwarz"}, one{false, "gmres", "ilu,levels=0"},
        one{false, "gmres", "spai"}, one{false, "bicgstab", "block_jacobi"}, one{true, "flexible-cg", "solve"}})
    for (const std::string permutation : {"rcm", "degree"}) {
      INFO(of.method << ", " << of.preconditioner << ", " << permutation);
      const csr_matrix<double>& A = of.is_symmetric ? symmetric : unsymmetric;
      const whilst::permutation found = whilst::find_permutation("testing", permutation, A);
      const std::vector<double> b = random_vector<double>(A.rows(), 3);
      std::vector<double> permuted_b;
      for (const auto row : found.rows) permuted_b.push_back(b[static_cast<std::size_t>(row)]);
      triplets<double> B(A.rows());
      const auto places = whilst::factorization::inverse_of(found.columns);
      for (const auto row : found.rows) {
        std::vector<std::pair<int, double>> entries;
        for (index_type k = A.row_offset(row); k < A.row_offset(row + 1); ++k)
          entries.emplace_back(places[static_cast<std::size_t>(A.column_indices()[static_cast<std::size_t>(k)])],
                               A.values()[static_cast<std::size_t>(k)]);
        std::sort(entries.begin(), entries.end());
        B.row(entries);
      }
      const outcome_of expected = solved(B.matrix(), permuted_b, permuted_by("none", of.method, of.preconditioner)),
                       made = solved(A, b, permuted_by(permutation, of.method, of.preconditioner));
      REQUIRE(expected.told.converged());
      REQUIRE(made.told.converged());
      CHECK(std::abs(static_cast<double>(made.told.iterations() - expected.told.iterations())) <= 2);
      double difference = 0, largest = 0;
      for (std::size_t k = 0; k < b.size(); ++k) {
        difference = std::max(difference, std::abs(expected.x[k] - made.x[static_cast<std::size_t>(found.columns[k])]));
        largest = std::max(largest, std::abs(expected.x[k]));
      }
      // Both have a residual of rtol = 1e-8; the condition is below 1000.
      CHECK(difference <= 1e-5 * largest);
    }
}

TEST_CASE("new values are brought into order by each solve", "[permutation][sanitizer]") {
  const csr_matrix<double> A = with_empty_diagonal<double>(300, 1);
  const csr_matrix<double> other = same_pattern(A, other_values(A));
  const std::vector<double> b = times_one(A);
  const auto norm_of = [&](const csr_matrix<double>& of, const std::vector<double>& x) {
    return relative_residual(of, b, x);
  };
  for (const std::string& executor : executors_with_steps())
    for (const std::string preconditioner : {"jacobi", "ilu", "spai", "block_jacobi"})
      for (const std::string permutation : {"matching_rcm", "rcm"}) {
        if (permutation == "rcm" && preconditioner != "ilu") continue;  // its diagonal is empty
        INFO(executor << ", " << preconditioner << ", " << permutation);
        const linear_solver_options options = permuted_by(permutation, "gmres", preconditioner, executor);
        linear_solver<double> solver(A, options);
        std::vector<double> first(b.size(), 0.0), x(b.size(), 0.0), y(b.size(), 0.0);
        REQUIRE(solver.solve(b, first).converged());
        solver.update_values(other);
        REQUIRE(solver.solve(b, x).converged());
        CHECK(norm_of(other, x) <= 1.001e-8);
        CHECK(norm_of(A, x) > 1e-3);
        // In place, as kernels write them: the preconditioner is told by bind_values, if it has to be.
        const place where = executor == "host" ? place::host() : place::gpu(0);
        buffer<double> values(where, A.nonzeros(), A.values().data());
        solver.bind_values(values.data());
        REQUIRE(solver.solve(b, y).converged());
        CHECK(y == first);
        values.upload(other.values().data());
        std::fill(y.begin(), y.end(), 0.0);
        REQUIRE(solver.solve(b, y).converged());
        CHECK(norm_of(other, y) <= 1.001e-8);
        if (preconditioner == "jacobi") CHECK(y == x);
      }
}

TEST_CASE("a matrix in device memory is permuted, and values that are written there count", "[permutation]") {
  const csr_matrix<double> A = with_empty_diagonal<double>(300, 1);
  const std::vector<double> b = times_one(A), others = other_values(A);
  for (const std::string& executor : executors_with_steps()) {
    if (executor == "host") continue;
    const buffer<std::int32_t> offsets(place::gpu(0), A.rows() + 1, A.row_offsets_32().data()),
        columns(place::gpu(0), A.nonzeros(), A.column_indices().data());
    buffer<double> values(place::gpu(0), A.nonzeros(), A.values().data());
    linear_solver<double> solver(csr_matrix<double>::on_device(A.rows(), A.columns(), A.nonzeros(), offsets.data(),
                                                               columns.data(), values.data()),
                                 permuted_by("matching", "gmres", "spai", executor));
    std::vector<double> x(b.size(), 0.0);
    REQUIRE(solver.solve(b, x).converged());
    CHECK(relative_residual(A, b, x) <= 1.001e-8);
    values.upload(others.data());
    REQUIRE(solver.solve(b, x).converged());
    CHECK(relative_residual(same_pattern(A, others), b, x) <= 1.001e-8);
  }
}

TEST_CASE("an order is that of the pattern, and values that are zero at first count", "[permutation]") {
  const csr_matrix<double> A = shuffled(whilst::make_gallery<double>("poisson2d:12").matrix);
  const csr_matrix<double> zeros = same_pattern(A, std::vector<double>(A.values().size(), 0.0));
  for (const std::string name : {"rcm", "degree"})
    CHECK(whilst::find_permutation("testing", name, zeros).rows == whilst::find_permutation("testing", name, A).rows);
  // Reverse Cuthill-McKee makes the band of a grid about as narrow as its side.
  const whilst::permutation found = whilst::find_permutation("testing", "rcm", A);
  const auto places = whilst::factorization::inverse_of(found.columns);
  int band = 0;
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      band =
          std::max(band, std::abs(places[static_cast<std::size_t>(i)] -
                                  places[static_cast<std::size_t>(A.column_indices()[static_cast<std::size_t>(k)])]));
  CHECK(band <= 24);
  linear_solver<double> solver(zeros, permuted_by("rcm", "cg", "jacobi"));
  solver.update_values(A);
  const std::vector<double> b = times_one(A);
  std::vector<double> x(b.size(), 0.0);
  CHECK(solver.solve(b, x).converged());
  CHECK(relative_residual(A, b, x) <= 1.001e-8);
}

TEST_CASE("a matching lets the diagonal precondition what has none", "[permutation]") {
  const csr_matrix<double> A = with_empty_diagonal<double>(2000);
  const std::vector<double> b = times_one(A);
  for (const std::string method : {"gmres", "bicgstab"}) {
    linear_solver_options options = permuted_by("none", method, "jacobi");
    options.max_iterations = 500;
    CHECK_FALSE(solved(A, b, options).told.converged());
    options.permutation = "matching";
    const report told = solved(A, b, options).told;
    CHECK(told.converged());
    CHECK(told.iterations() < 100);
  }
}

TEST_CASE("hostile matrices are permuted, or refused by the row's name", "[permutation]") {
  const std::vector<double> two{1, 1};
  for (const std::string& executor : executors_with_steps()) {
    // One row; none; a dense row and column beside an empty diagonal; a negative one.
    triplets<double> one(1);
    one.row({{0, -4}});
    CHECK(solved(one.matrix(), {8}, permuted_by("matching_rcm", "gmres", "jacobi", executor)).x[0] == Approx(-2));
    for (const std::string permutation : {"matching", "rcm", "degree", "matching_degree"})
      CHECK(solved(triplets<double>(0).matrix(), {}, permuted_by(permutation, "gmres", "jacobi", executor))
                .told.converged());
    const int n = 400;
    triplets<double> arrow(n);
    for (int i = 0; i < n; ++i) {
      if (i > 0) arrow.row({{0, 0.1}, {i, i % 2 ? -2.0 : 1e-3}});
      std::vector<std::pair<int, double>> dense{{0, 100}};
      for (int j = 1; j < n; ++j) dense.emplace_back(j, 1e-4);
      if (i == 0) arrow.row(dense);
    }
    const csr_matrix<double> A = arrow.matrix();
    for (const std::string permutation : {"matching", "rcm", "matching_degree"}) {
      const outcome_of made = solved(A, times_one(A), permuted_by(permutation, "gmres", "jacobi", executor));
      CHECK(made.told.converged());
      CHECK(relative_residual(A, times_one(A), made.x) <= 1.001e-8);
    }
    // A NaN is told by the solve, as ever.
    triplets<double> bad(2);
    bad.row({{0, std::numeric_limits<double>::quiet_NaN()}});
    bad.row({{1, 1}});
    CHECK(solved(bad.matrix(), two, permuted_by("matching", "gmres", "jacobi", executor)).told.reason() ==
          whilst::reason::nan_or_infinity);
    // Singular by its values alone: x stays finite.
    triplets<double> singular(2);
    singular.row({{0, 1}, {1, 2}});
    singular.row({{0, 2}, {1, 4}});
    const outcome_of made = solved(singular.matrix(), two, permuted_by("matching", "bicgstab", "jacobi", executor));
    CHECK_FALSE(made.told.converged());
    CHECK(std::isfinite(made.x[0] + made.x[1]));
  }
  triplets<double> empty(3);
  empty.row({{0, 2}, {1, 1}});
  empty.row({});
  empty.row({{0, 1}, {2, 5}});
  CHECK(refused(empty.matrix(), permuted_by("matching", "gmres", "jacobi")) ==
        "making a linear solver: a matching finds no nonzero for the diagonal of row 1: it matches 2 of 3 rows, so the "
        "matrix is structurally singular. Leave permutation out, or use lsqr or lsmr without it, which take singular "
        "matrices");
  // Zeros that are stored are no entries for a diagonal.
  triplets<double> zero(2);
  zero.row({{0, 1}, {1, 0}});
  zero.row({{0, 1}, {1, 0}});
  CHECK_THAT(refused(zero.matrix(), permuted_by("matching", "gmres", "none")), contains("it matches 1 of 2 rows"));
}

TEST_CASE("sizes beyond float's range are scaled to within it", "[permutation]") {
  // Scales are at most 2^60 in float: R A C then is not about 1, and the solve ends anyhow.
  for (const double size : {1e-30, 1e-18, 1e18, 1e30}) {
    triplets<float> t(3);
    t.row({{0, 0}, {1, size}});
    t.row({{0, 1}, {1, -3 * size}});
    t.row({{2, 2}, {0, 0.5}});
    std::vector<float> x(3, 0.0f);
    linear_solver_options options = permuted_by("matching", "gmres", "jacobi");
    options.rtol = 1e-5;
    linear_solver<float>(t.matrix(), options).solve({1, 1, 1}, x);
    for (const float value : x) CHECK(std::isfinite(value));
  }
}

TEST_CASE("at a limit and with two solvers at once, x is what it should be", "[permutation]") {
  const csr_matrix<double> A = with_empty_diagonal<double>(1500);
  const std::vector<double> b = times_one(A);
  linear_solver_options options = permuted_by("matching", "bicgstab", "none");
  options.max_iterations = 3;
  const outcome_of limited = solved(A, b, options);
  CHECK(limited.told.reason() == whilst::reason::iteration_limit);
  CHECK(relative_residual(A, b, limited.x) <= 1 + 1e-12);
  CHECK(limited.told.relative_residual() == Approx(relative_residual(A, b, limited.x)));

  options.max_iterations = 1000;
  const std::vector<double> alone = solved(A, b, options).x;
  std::vector<double> x[2];
  std::thread other([&] { x[0] = solved(A, b, options).x; });
  x[1] = solved(A, b, options).x;
  other.join();
  CHECK(x[0] == alone);
  CHECK(x[1] == alone);
  options.threads = 2;
  CHECK(solved(A, b, options).x == alone);
}

TEST_CASE("what does not go with a permutation is refused by name", "[permutation]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:4").matrix;
  const std::string making = "making a linear solver: ";
  CHECK(refused(A, permuted_by("mc64", "cg", "none")) ==
        making +
            "there is no permutation called 'mc64'. Use one of none, rcm, degree, matching, matching_rcm, "
            "matching_degree");
  CHECK(refused(A, permuted_by("matching", "cg", "jacobi")) ==
        making +
            "permutation matching destroys symmetry, which method cg needs. Use permutation rcm or degree, or a "
            "method for any square matrix, as bicgstab");
  CHECK(refused(A, permuted_by("rcm", "lsqr", "none")) ==
        making +
            "permutation rcm has no products with the transpose, which method lsqr needs. Leave the option out, or "
            "use another method");
  const auto with = [&](linear_solver_options options, auto change) {
    change(options);
    return refused(A, options);
  };
  const linear_solver_options rcm = permuted_by("rcm", "cg", "none"),
                              matched = permuted_by("matching", "gmres", "none");
  CHECK_THAT(with(rcm, [](auto& o) { o.null_space = "constant"; }),
             contains("permutation rcm does not go with a null space"));
  CHECK_THAT(with(rcm, [](auto& o) { o.deflation.assign(16, 1.0); }),
             contains("permutation rcm does not go with deflation"));
  CHECK_THAT(with(rcm, [](auto& o) { o.method = "refined-cg"; }), contains("refined-cg has a copy in float"));
  CHECK_THAT(with(rcm, [](auto& o) { o.executor = "resident"; }), contains("resident"));
  CHECK_THAT(with(rcm, [](auto& o) { o.preconditioner = "multigrid"; }),
             contains("the grid of preconditioner multigrid"));
  CHECK_THAT(with(rcm, [](auto& o) { o.preconditioner = "amg,unknowns_a_node=2"; }), contains("unknowns_a_node is in"));
  CHECK_THAT(with(rcm,
                  [](auto& o) {
                    o.preconditioner = "block_jacobi";
                    o.block_jacobi.offsets = {0, 8, 16};
                  }),
             contains("block_jacobi.offsets is in the order of the matrix, not in that of permutation rcm"));
  CHECK_THAT(with(matched, [](auto& o) { o.scaling = "symmetric"; }), contains("scaling symmetric is by the diagonal"));
  CHECK_THAT(with(matched,
                  [](auto& o) {
                    o.scaling = "rows";
                    o.preconditioner = "spai";
                  }),
             contains("scaling rows changes the matrix that preconditioner spai is for"));
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
  CHECK_THAT(thrown([&] { linear_solver<double>(5, copies, rcm); }), contains("permutation rcm is of a matrix"));
  CHECK(thrown([&] { linear_solver<double>(A, copies, rcm); }) ==
        making +
            "permutation rcm changes the matrix that your preconditioner is for. Leave permutation out, or use "
            "preconditioner jacobi");
  CHECK_THAT(thrown([&] { whilst::batch_linear_solver<double>(A, 3, rcm); }),
             contains("permutation rcm is done by steps for one large system"));
  const csr_matrix<double> tall(3, 2, std::vector<int>{0, 1, 2, 3}, std::vector<int>{0, 1, 0},
                                std::vector<double>{1, 1, 1});
  CHECK_THAT(refused(tall, rcm), contains("3 rows and 2 columns"));
  CHECK_THAT(refused(tall, permuted_by("rcm", "auto", "none")), contains("which method lsqr needs"));
}

TEST_CASE("auto, the cache and several right-hand sides take a permutation", "[permutation]") {
  const csr_matrix<double> A = shuffled(whilst::make_gallery<double>("poisson2d:8").matrix);
  const std::vector<double> b = times_one(A);
  const outcome_of made = solved(A, b, permuted_by("matching", "auto", "none"));
  CHECK(made.told.converged());
  CHECK(made.told.choice() == "bicgstab, since a matching destroys symmetry");
  CHECK(solved(A, b, permuted_by("rcm", "auto", "auto")).told.method() == "cg");

  linear_solver_options options = permuted_by("rcm", "cg", "jacobi");
  std::vector<double> x(b.size(), 0.0);
  CHECK(whilst::solve(A, b, x, options).converged());
  CHECK(x == solved(A, b, options).x);

  std::vector<double> two_b = b, two_x(2 * b.size(), 0.0);
  two_b.insert(two_b.end(), b.begin(), b.end());
  whilst::columns_linear_solver<double> columns(A, 2, options);
  columns.solve(two_b, two_x);
  CHECK(std::equal(x.begin(), x.end(), two_x.begin()));
  CHECK(std::equal(x.begin(), x.end(), two_x.begin() + static_cast<std::ptrdiff_t>(x.size())));
}

}  // namespace whilst_test
