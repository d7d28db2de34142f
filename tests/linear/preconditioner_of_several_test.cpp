// What preconditioners make of several vectors at once, against the same of one vector after another.

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/linear/matrix_on_place.hpp"

namespace whilst_test {
namespace {

using whilst::buffer;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::linear_solver_options;

/// M R by apply_to_columns, and by apply for each column.
template <class T>
struct both_ways {
  std::vector<T> at_once, in_turn;
};
template <class T>
both_ways<T> applied(const csr_matrix<T>& A, const linear_solver_options& options, const way& w, index_type columns,
                     const std::vector<T>& R) {
  const index_type n = A.rows();
  const whilst::matrix_on_place<T> placed(A, w.where, true);
  const whilst::solve_request<T> request = placed.request();
  const whilst::preconditioner_choice chosen = whilst::chosen_preconditioner("testing", options);
  const auto make = [&] {
    return chosen.description->template maker<T>()({request, &placed.given(), request.values},
                                                   {.symmetric = true, .definite = true}, chosen.options);
  };
  const auto several = make(), one = make();
  const buffer<T> given(w.where, n * columns, R.data());
  buffer<T> at_once(w.where, n * columns), in_turn(w.where, n * columns);
  const double factor_here = 0.5;
  const buffer<double> factor(w.where, 1, &factor_here);

  whilst::program_recorder record(w.where);
  struct places {
    const T** values;
    whilst::control* loop;
  };
  const places at = record.arena([&](whilst::arena_layout& memory) {
    const places taken{memory.take<const T*>(1), memory.take<whilst::control>(1)};
    for (const auto* M : {&several, &one}) (*M)->read_values_from({taken.values});
    several->take_memory_for_columns(n, columns, memory);
    one->take_memory(n, memory);
    return taken;
  });
  record.parameter<const T*>(at.values, request.values);
  record.parameter(&at.loop->settings, whilst::control_settings{.limit = 1});
  record.loop(
      "once", at.loop,
      [&](whilst::recorder& run) {
        several->prepare_by_itself(run, factor.data());
        one->prepare_by_itself(run, factor.data());
      },
      [&](whilst::recorder& run) {
        several->apply_to_columns(run, n, columns, given.data(), at_once.data());
        for (index_type k = 0; k < columns; ++k) one->apply(run, given.data() + k * n, in_turn.data() + k * n);
      });
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how});
  run(program);
  both_ways<T> made{values(at_once), values(in_turn)};
  run(program);
  CHECK(std::memcmp(values(at_once).data(), made.at_once.data(), made.at_once.size() * sizeof(T)) == 0);
  return made;
}

/// Rounding of sums of some ten products on each of a few levels, of entries of about 1. On the host both ways are the
/// same sums in the same order; a compiler for GPUs may fuse products and additions of one and not of the other.
template <class T>
void check_alike(const both_ways<T>& M, const std::string& preconditioner, const way& w) {
  if (w.where.on_host()) {
    CHECK(M.at_once == M.in_turn);
    return;
  }
  const bool in_float = sizeof(T) == 4 || preconditioner.find("precision=double") == std::string::npos;
  const double rounding = 1000 * (in_float ? 0x1p-23 : 0x1p-52);
  const Eigen::VectorXd one = to_eigen(M.at_once).template cast<double>(),
                        other = to_eigen(M.in_turn).template cast<double>();
  CHECK((one - other).norm() <= rounding * other.norm());
}

}  // namespace

TEMPLATE_TEST_CASE("amg of several columns is amg of each", "[linear][amg][columns]", float, double) {
  struct kind {
    const char *problem, *settings;
    int unknowns_a_node;
  };
  for (const way& w : ways())
    for (const kind& one : {kind{"poisson2d:1", "", 1},
                            {"poisson1d:3", "", 1},
                            {"poisson2d:23", ",coarsest_rows=20", 1},
                            {"poisson2d:23", ",coarsest_rows=20,precision=double", 1},
                            {"poisson2d:23", ",coarsest_rows=20,precision=bfloat16", 1},
                            {"poisson2d:23", ",coarsest_rows=20,coarsening=classical", 1},
                            {"poisson2d:17", ",coarsest_rows=1,most_levels=2", 1},
                            {"poisson2d:23", ",coarsest_rows=20,cycle=W,sweeps=2", 1},  // in turn
                            {"elasticity2d:8", ",coarsest_rows=12", 2}})
      for (const index_type columns : {1, 2, 3, 4, 5, 16}) {
        const std::string name = "amg" + std::string(one.settings);
        INFO(w.name << ", " << one.problem << ", " << name << ", " << columns << " columns");
        const csr_matrix<TestType> A = whilst::make_gallery<TestType>(one.problem).matrix;
        linear_solver_options options{.preconditioner = name};
        options.amg.unknowns_a_node = one.unknowns_a_node;
        check_alike(applied(A, options, w, columns, random_vector<TestType>(A.rows() * columns, 3)), name, w);
      }
}

TEST_CASE("amg of several columns with all that is special, once each", "[linear][amg][columns][sanitizer]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:13").matrix;
  for (const way& w : ways())
    for (const std::string settings : {"", ",precision=double", ",precision=bfloat16", ",most_levels=2"}) {
      const std::string name = "amg,coarsest_rows=10" + settings;
      INFO(w.name << ", " << name);
      check_alike(applied(A, {.preconditioner = name}, w, 5, random_vector<double>(5 * A.rows(), 3)), name, w);
    }
}

/// With teams enough that each takes all tiles.
TEST_CASE("amg of several columns of many rows", "[linear][amg][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>(under_sanitizers ? "poisson2d:70" : "poisson3d:36").matrix;
  for (const way& w : ways())
    for (const std::string name : {"amg", "amg,precision=double"}) {
      INFO(w.name << ", " << name);
      check_alike(applied(A, {.preconditioner = name}, w, 5, random_vector<double>(5 * A.rows(), 3)), name, w);
    }
}

TEST_CASE("preconditioners that know one vector take several in turn", "[linear][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:12").matrix;
  for (const way& w : ways())
    for (const std::string name :
         {"multigrid", "ic", "fsai", "block_jacobi", "ssor", "schwarz", "chebyshev", "neumann"}) {
      INFO(w.name << ", " << name);
      check_alike(applied(A, {.preconditioner = name}, w, 3, random_vector<double>(3 * A.rows(), 3)), name, w);
    }
}

TEST_CASE("what is no number stays in its column", "[linear][amg][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:23").matrix;
  const auto n = static_cast<std::size_t>(A.rows());
  const std::vector<double> R = random_vector<double>(7 * A.rows(), 3);
  std::vector<double> spoilt = R;
  spoilt[2 * n + 5] = std::numeric_limits<double>::quiet_NaN();
  spoilt[4 * n] = std::numeric_limits<double>::infinity();
  for (const way& w : ways()) {
    INFO(w.name);
    const linear_solver_options options{.preconditioner = "amg,coarsest_rows=20"};
    const std::vector<double> whole = applied(A, options, w, 7, R).at_once,
                              beside = applied(A, options, w, 7, spoilt).at_once;
    for (const std::size_t column : {0u, 1u, 3u, 5u, 6u}) {
      CAPTURE(column);
      CHECK(std::memcmp(whole.data() + column * n, beside.data() + column * n, n * sizeof(double)) == 0);
    }
  }
}

}  // namespace whilst_test
