// Option `permutation`: against the solve of the permuted matrix, with matrices that are hard or bad, and refusals.
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "solvers/linear/permutation/permutation.hpp"
#include "tests/catch.hpp"
#include "tests/linear/permuted_solves.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::report;

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
    // Values that come later find an order that suits them.
    triplets<double> spoiled(5), sound(5);
    for (int i = 0; i < 5; ++i) {
      const auto row = [&](double beside) {
        return i < 4 ? std::vector<std::pair<int, double>>{{i, 1e-3}, {i + 1, beside}}
                     : std::vector<std::pair<int, double>>{{0, beside}, {4, 1e-3}};
      };
      spoiled.row(row(i == 2 ? std::numeric_limits<double>::quiet_NaN() : 2));
      sound.row(row(2));
    }
    const csr_matrix<double> later = sound.matrix();
    whilst::linear_solver<double> kept(spoiled.matrix(), permuted_by("matching", "bicgstab", "jacobi", executor));
    std::vector<double> x(5, 0.0);
    const std::vector<double> ones(5, 1.0);
    CHECK(kept.solve(ones, x).reason() == whilst::reason::nan_or_infinity);
    kept.update_values(later.values());
    x.assign(5, 0.0);
    CHECK(kept.solve(ones, x).iterations() <= 5);
    CHECK(relative_residual(later, ones, x) <= 1.001e-8);
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
  // Scales are at most 2^60 in float: R A C then is not about 1, and the solve converges anyhow.
  for (const double size : {1e-30, 1e-18, 1e18, 1e30}) {
    triplets<float> t(3);
    t.row({{0, 0}, {1, size}});
    t.row({{0, 1}, {1, -3 * size}});
    t.row({{2, 2}, {0, 0.5}});
    std::vector<float> x(3, 0.0f);
    linear_solver_options options = permuted_by("matching", "gmres", "jacobi");
    options.rtol = 1e-5;
    CHECK(linear_solver<float>(t.matrix(), options).solve({1, 1, 1}, x).converged());
    CHECK(x[0] == Approx(4).epsilon(10 * options.rtol));
    CHECK(x[1] == Approx(1 / size).epsilon(10 * options.rtol));
    CHECK(x[2] == Approx(-0.5).epsilon(10 * options.rtol));
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
  // The same for the M of preconditioner solve.
  const linear_solver_options inner = permuted_by("rcm", "flexible-cg", "solve");
  CHECK_THAT(with(inner, [](auto& o) { o.preconditioner = "solve,preconditioner=multigrid"; }),
             contains("the grid of preconditioner multigrid is in"));
  CHECK_THAT(with(inner,
                  [](auto& o) {
                    o.solve.preconditioner = "amg";
                    o.amg.unknowns_a_node = 2;
                  }),
             contains("unknowns_a_node is in"));
  CHECK_THAT(with(inner,
                  [](auto& o) {
                    o.solve.preconditioner = "amg";
                    o.amg.coordinates.assign(32, 1.0);
                  }),
             contains("coordinates is in"));
  CHECK_THAT(with(inner, [](auto& o) { o.solve.preconditioner = "amg,unknowns_a_node=2"; }),
             contains("unknowns_a_node is in"));
  CHECK_THAT(with(inner,
                  [](auto& o) {
                    o.preconditioner = "solve,preconditioner=block_jacobi";
                    o.block_jacobi.offsets = {0, 8, 16};
                  }),
             contains("block_jacobi.offsets is in"));
  // Where two options change the matrix, the one that matters is named.
  CHECK_THAT(with(rcm,
                  [](auto& o) {
                    o.scaling = "symmetric";
                    o.preconditioner = "multigrid";
                  }),
             contains("not in that of permutation rcm"));
  CHECK_THAT(with(rcm,
                  [](auto& o) {
                    o.matrix_values = "float";
                    o.preconditioner = "ic";
                  }),
             contains("matrix_values float changes the matrix that preconditioner ic is for"));
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
