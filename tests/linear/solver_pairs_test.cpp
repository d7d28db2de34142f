// Which pairs of a method and a preconditioner "auto" tries, in which turn, and how it measures what they found.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "solvers/linear/automatic/extended_residual.hpp"
#include "solvers/linear/automatic/solver_pairs.hpp"
#include "tests/catch.hpp"
#include "tests/linear/automatic_pairs.hpp"

namespace whilst_test {

using whilst::csr_matrix;
using whilst::matrix_traits;
using whilst::reason;
using whilst::report_fields;
using whilst::solver_attempt;

namespace {

/// "cg ic, cg jacobi"
std::string in_short(const std::vector<solver_attempt>& attempts) {
  std::string text;
  for (const solver_attempt& one : attempts) {
    const std::string& M = one.pair.preconditioner;
    const std::string name = M == complete_ic                ? "complete"
                             : M == matched_ilu              ? "matched"
                             : M == unmatched_ilu            ? "unmatched"
                             : M == last_ic || M == last_ilu ? "last"
                                                             : M.substr(0, M.find(','));
    text += (text.empty() ? "" : ", ") + one.pair.method + " " + name;
  }
  return text;
}

template <class T>
matrix_traits traits(const csr_matrix<T>& A) {
  return whilst::traits_of<T>(A, A.values());
}

}  // namespace

TEST_CASE("what auto tries, by traits", "[linear][auto_M]") {
  matrix_traits A{.rows = 500, .nonzeros = 2500, .is_symmetric = true, .has_diagonal_of_one_sign = true};
  const auto tried = [&] { return in_short(whilst::attempts_for(A, {}, {})); };
  const std::string last = ", cg jacobi, cg last, gmres last, cg jacobi, minres jacobi",
                    last_of_unsymmetric = ", bicgstab jacobi, gmres last, bicgstab jacobi, gmres jacobi";
  const std::string usual = "cg complete, cg ic, gmres matched, gmres unmatched, gmres ilu, gmres ilu" + last;
  CHECK(tried() == usual);
  A.is_like_m_matrix = A.is_dominant = true;  // incomplete factors suit
  const std::string easy = "cg ic, cg complete, gmres matched, gmres unmatched, gmres ilu, gmres ilu" + last;
  CHECK(tried() == easy);
  A.has_whole_diagonal = true;
  CHECK_THAT(tried(), contains("cg complete, gmres unmatched, gmres matched, gmres ilu"));
  A.has_whole_diagonal = false;
  A.rows = 50'000;
  A.nonzeros = 250'000;
  CHECK(tried() == "cg jacobi, cg amg, " + easy);
  A.is_dominant = A.is_like_m_matrix = false;
  CHECK(tried() == usual);
  A.knows_nodes = true;
  CHECK(tried() == "cg amg, " + usual);
  A.wants_flexible = true;
  CHECK(tried() == "flexible-cg amg, " + usual);
  A.knows_nodes = A.wants_flexible = false;
  A.is_like_m_matrix = true;
  CHECK(tried() == "cg amg, " + easy);
  A.rows = 2'000'000;
  A.nonzeros = 10'000'000;
  CHECK(tried() == "cg amg, cg ic, gmres ilu, gmres ilu" + last);
  A.nonzeros = 100'000'000;
  CHECK(tried() == "cg amg, cg jacobi, minres jacobi");
  A.is_like_m_matrix = false;
  CHECK(tried() == "cg amg, cg jacobi, minres jacobi");
  A.is_symmetric = false;
  CHECK(tried() == "bicgstab jacobi, gmres jacobi");
  A.is_like_m_matrix = A.wants_flexible = true;
  CHECK(tried() == "fgmres amg, bicgstab jacobi, gmres jacobi");
  A = {.rows = 500, .nonzeros = 2500};
  CHECK(tried() == "gmres matched, gmres unmatched, gmres ilu, gmres ilu" + last_of_unsymmetric);
  A.is_dominant = true;
  CHECK(tried() == "gmres ilu, gmres matched, gmres unmatched, gmres ilu" + last_of_unsymmetric);
  A.is_dominant = false;
  A.is_symmetric = true;
  CHECK(tried() == "gmres matched, gmres unmatched, gmres ilu, gmres ilu, minres jacobi, gmres last, minres jacobi");
  A.is_finite = false;
  CHECK(tried() == "minres jacobi");
  // The longer the rows, the less fill.
  A = {.rows = 1000, .nonzeros = 200'000};
  CHECK(whilst::attempts_for(A, {}, {})[2].pair.preconditioner == "ilu,drop=1e-5,fill=2,pivoting=0.1");
  // Under a method that is named, its preconditioners; ilu is not symmetric.
  A = {.rows = 500, .nonzeros = 2500, .is_symmetric = true, .has_diagonal_of_one_sign = true};
  CHECK(
      in_short(whilst::attempts_for(A, "idr", {})) ==
      "idr complete, idr ic, idr matched, idr unmatched, idr ilu, idr ilu, idr jacobi, idr last, idr last, idr jacobi");
  CHECK(in_short(whilst::attempts_for(A, "cr", {.symmetric = true})) ==
        "cr complete, cr ic, cr jacobi, cr last, cr jacobi");
  A.is_symmetric = false;
  CHECK(in_short(whilst::attempts_for(A, "cg", {.symmetric = true})) == "cg jacobi");
  // The last one has no limit of its own.
  CHECK(whilst::attempts_for(A, {}, {}).back().most_iterations == 0);
}

TEMPLATE_TEST_CASE("what auto sees in a matrix", "[linear][auto_M]", float, double) {
  using T = TestType;
  const matrix_traits poisson = traits(line_with_drift<T>(10, 0));
  CHECK(poisson.is_symmetric);
  CHECK(poisson.has_diagonal_of_one_sign);
  CHECK(poisson.is_like_m_matrix);
  CHECK_FALSE(poisson.is_dominant);
  CHECK(poisson.size == Approx(4));
  CHECK(poisson.has_whole_diagonal);
  CHECK_FALSE(traits(scattered_entries<T>(50, 1)).has_whole_diagonal);
  CHECK(traits(line_with_drift<T>(10, 2)).is_dominant);
  CHECK_FALSE(traits(line_with_drift<T>(10, 1.9)).is_dominant);
  CHECK(traits(line_with_drift<T>(10, 0, 0.5)).is_like_m_matrix);
  CHECK_FALSE(traits(line_with_drift<T>(10, 0, 0.5)).is_symmetric);
  CHECK_FALSE(traits(line_with_drift<T>(10, 0, 1.5)).is_like_m_matrix);  // half of the entries have the diagonal's sign
  CHECK_FALSE(traits(scattered_entries<T>(50, 1)).is_like_m_matrix);
  CHECK_FALSE(traits(scattered_entries<T>(50, 1)).is_symmetric);
  CHECK(traits(scattered_entries<T>(50, 1, true)).is_symmetric);
  triplets<T> bad(2);
  bad.row({{0, 1}, {1, NAN}});
  bad.row({{1, 1}});
  CHECK_FALSE(traits(bad.matrix()).is_finite);
  CHECK(traits(triplets<T>(0).matrix()).size == 0);
}

TEST_CASE("which ends auto goes on after", "[linear][auto_M]") {
  const auto goes_on = [](reason why, double residual, bool direct = false, double rounding = 0) {
    report_fields ended;
    ended.reason = why;
    ended.residual_norm = residual;
    ended.rhs_norm = 1;
    solver_attempt of;
    of.is_nearly_direct = direct;
    return whilst::goes_on_after(ended, of, rounding);
  };
  for (const reason why : {reason::breakdown, reason::stagnation, reason::indefinite_operator, reason::divergence,
                           reason::indefinite_preconditioner, reason::iteration_limit, reason::attainable_accuracy})
    CHECK(goes_on(why, 1e-5));
  for (const reason why : {reason::converged_rtol, reason::converged_atol, reason::cancelled, reason::deadline})
    CHECK_FALSE(goes_on(why, 1e-5));
  CHECK(goes_on(reason::nan_or_infinity, 1));  // M's doing
  CHECK_FALSE(goes_on(reason::nan_or_infinity, NAN));
  CHECK_FALSE(goes_on(reason::attainable_accuracy, 1e-5, true));  // of factors that are complete
  CHECK(goes_on(reason::attainable_accuracy, 0.1, true));
  CHECK(goes_on(reason::attainable_accuracy, 1e-5, true, 1e-9));  // of factors that were not as good as it seemed
  CHECK_FALSE(goes_on(reason::attainable_accuracy, 1e-3, false, 1e-3));  // no other x of the type is closer
  CHECK(goes_on(reason::attainable_accuracy, 1e-3, false, 1e-5));
  CHECK(goes_on(reason::attainable_accuracy, 0.5, false, 1));  // a far smaller x may be
}

TEST_CASE("attempts take turns: the first, those after it, those before it, what failed, what has no limit",
          "[linear][auto_M]") {
  using indices = std::vector<std::size_t>;
  const auto of = [](const char* method, whilst::index_type most) {
    return solver_attempt{.pair = {method, "none"}, .why = "", .most_iterations = most};
  };
  const std::vector<solver_attempt> four{of("a", 5), of("b", 5), of("c", 5), of("d", 0)};
  whilst::attempts_in_turn turns;
  CHECK(turns.empty());
  turns.replace(four);
  CHECK(turns.order() == indices{0, 1, 2, 3});
  turns.begin_with(1);
  CHECK(turns.order() == indices{1, 2, 0, 3});
  turns.note_failed(2);
  CHECK(turns.order() == indices{1, 0, 2, 3});
  turns.note_refused(0);
  CHECK(turns.order() == indices{1, 2, 3});
  turns.begin_with(3);
  CHECK(turns.order() == indices{3, 1, 2});
  turns.replace(four);  // other values of the same kind
  CHECK(turns.order() == indices{3, 0, 1, 2});
  turns.replace({of("a", 5), of("b", 5)});
  CHECK(turns.order() == indices{0, 1});
}

TEST_CASE("a residual in extended precision is no number where an entry is none", "[linear][auto_M]") {
  const auto A = line_with_drift<double>(3, 0);
  const auto residual = [&](std::vector<double> b, std::vector<double> x) {
    std::vector<double> r;
    return whilst::extended_residual<double>(A, A.values_data(), b, x, r);
  };
  CHECK(residual({1, 0, 1}, {1, 1, 1}).norm == 0);
  CHECK(residual({1, 0, 1}, {0, 0, 0}).norm == Approx(std::sqrt(2.0)));
  CHECK(residual({1, 0, 1}, {0, 0, 0}).rounding == 0);
  // |A| |x| = (3, 4, 3)
  CHECK(residual({1, 0, 1}, {1, 1, 1}).rounding ==
        Approx(std::sqrt(34.0) * std::numeric_limits<double>::epsilon()).epsilon(1e-6));
  CHECK(std::isnan(residual({NAN, NAN, NAN}, {1, 1, 1}).norm));
  CHECK(std::isnan(residual({1, 0, 1}, {NAN, NAN, NAN}).norm));
  CHECK(std::isnan(residual({1, 0, 1}, {1, INFINITY, 1}).norm));
}

}  // namespace whilst_test
