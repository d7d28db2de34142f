// compiled by nvcc where CUDA is on
// Option `permutation`: the matrix in another order, its values, and solves with it.
#define EIGEN_NO_CUDA
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "solvers/linear/permutation/permutation.hpp"
#include "solvers/linear/permutation/permuted_matrix.hpp"
#include "tests/catch.hpp"
#include "tests/linear/permuted_solves.hpp"
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

template <class T>
struct copy_entries {
  const T* from;
  T* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from[i]; }
};

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

}  // namespace whilst_test
