#include "whilst/options_text.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include "tests/catch.hpp"
#include "whilst/error.hpp"

namespace whilst_test {

using whilst::eigenvalue_options;
using whilst::linear_solver_options;
using whilst::minimizer_options;
using whilst::nonlinear_solver_options;
using whilst::options_from_string;
using whilst::options_to_string;

namespace {

template <class Options>
std::string refusal(const std::string& text) {
  try {
    options_from_string<Options>(text);
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

/// Converts to whatever member it initializes.
struct anything {
  template <class T>
  operator T() const;
};
/// How many members an aggregate has.
template <class Aggregate, class... Given>
constexpr std::ptrdiff_t members() {
  if constexpr (requires { Aggregate{Given{}..., anything{}}; }) {
    return members<Aggregate, Given..., anything>();
  } else {
    return sizeof...(Given);
  }
}

template <class Options>
std::ptrdiff_t keys() {
  const std::string text = options_to_string(Options{});
  return std::count(text.begin(), text.end(), '=');
}

}  // namespace

TEST_CASE("each option has a key", "[options]") {
  // Settings of a preconditioner are members of one, and so are tolerances.
  CHECK(keys<linear_solver_options>() == members<linear_solver_options>() - 10 + members<whilst::amg_options>() +
                                             members<whilst::multigrid_options>() + members<whilst::ilu_options>() +
                                             members<whilst::fsai_options>() + members<whilst::block_jacobi_options>() +
                                             members<whilst::ssor_options>() + members<whilst::schwarz_options>() +
                                             members<whilst::chebyshev_options>() + members<whilst::neumann_options>() +
                                             members<whilst::inner_solve_options>());
  CHECK(keys<minimizer_options>() ==
        members<minimizer_options>() - 2 + members<whilst::descent_tolerances>() + members<whilst::amg_options>());
  CHECK(keys<eigenvalue_options>() == members<eigenvalue_options>() - 1 + members<whilst::amg_options>());
  CHECK(keys<nonlinear_solver_options>() ==
        members<nonlinear_solver_options>() - 1 + members<whilst::nonlinear_tolerances>());
}

TEST_CASE("options are read from a line of text", "[options]") {
  const linear_solver_options expected{.method = "bicgstab",
                                       .preconditioner = "jacobi",
                                       .rtol = 1e-10,
                                       .max_iterations = 5,
                                       .deadline = 2.5,
                                       .executor = "graph",
                                       .callback_memory = "device",
                                       .unroll = 4,
                                       .programmatic_launch = false,
                                       .transport = "shared memory",
                                       .device = 1};
  CHECK(options_from_string<linear_solver_options>(
            "method=bicgstab,preconditioner=jacobi,rtol=1e-10,max_iterations=5,deadline=2.5,executor=graph,"
            "callback_memory=device,unroll=4,programmatic_launch=false,transport=shared memory,device=1") == expected);
  CHECK(options_from_string<linear_solver_options>("preconditioner=amg,amg_strength=0.1,amg_precision=double") ==
        linear_solver_options{.preconditioner = "amg", .amg = {.precision = "double", .strength = 0.1}});
  CHECK(
      options_from_string<linear_solver_options>("preconditioner=ilu,ilu_drop=0.1,ilu_matching=false,ilu_order=none") ==
      linear_solver_options{.preconditioner = "ilu", .ilu = {.drop = 0.1, .matching = false, .order = "none"}});
  CHECK(options_from_string<linear_solver_options>(
            "preconditioner=block_jacobi,block_jacobi_rows=8,block_jacobi_offsets=0 3 7,chebyshev_degree=6") ==
        linear_solver_options{.preconditioner = "block_jacobi",
                              .block_jacobi = {.rows = 8, .offsets = {0, 3, 7}},
                              .chebyshev = {.degree = 6}});
  CHECK(options_from_string<linear_solver_options>("null_space_vectors = 1  -2 3e4 , null_space=vectors") ==
        linear_solver_options{.null_space = "vectors", .null_space_vectors = {1, -2, 3e4}});
  CHECK(options_from_string<linear_solver_options>("") == linear_solver_options{});
  CHECK(options_from_string<linear_solver_options>(" rtol = 1e-3 , dtol=inf ") ==
        linear_solver_options{.rtol = 1e-3, .dtol = std::numeric_limits<double>::infinity()});

  const auto minimizer = options_from_string<minimizer_options>("method=bfgs,gradient=1e-5,lower_bound=-inf");
  CHECK(minimizer.method == "bfgs");
  CHECK(minimizer.tolerances.gradient == 1e-5);
  CHECK(minimizer.lower_bound == -std::numeric_limits<double>::infinity());
  CHECK(minimizer.line_search == minimizer_options().line_search);
  const auto equations = options_from_string<nonlinear_solver_options>("atol=0,depth=3,mixing=-0.5");
  CHECK(equations.tolerances.atol == 0);
  CHECK(equations.depth == 3);
  CHECK(equations.mixing == -0.5);
}

TEST_CASE("options that are written are read back as they were", "[options]") {
  linear_solver_options odd;
  odd.rtol = 0.1 + 0.2;  // 17 digits
  odd.atol = std::numeric_limits<double>::denorm_min();
  odd.max_iterations = std::numeric_limits<whilst::index_type>::max();
  odd.device = -1;
  odd.executor = "stream";
  odd.transport = "peer memory";
  odd.null_space = "vectors";
  odd.null_space_vectors = {1, -0.1, 1e-300};
  CHECK(options_from_string<linear_solver_options>(options_to_string(odd)) == odd);
  CHECK(options_to_string(linear_solver_options{}).find("method=cg,") == 0);
  const std::string by_name = options_to_string(linear_solver_options{.preconditioner = "amg,most_levels=3"});
  CHECK(options_from_string<linear_solver_options>(by_name) ==
        linear_solver_options{.preconditioner = "amg", .amg = {.most_levels = 3}});
  const std::string of_minimizer = options_to_string(minimizer_options{.preconditioner = "amg,most_levels=3"});
  CHECK(options_from_string<minimizer_options>(of_minimizer).preconditioner == "amg");
  CHECK(options_from_string<minimizer_options>(of_minimizer).amg.most_levels == 3);
  const eigenvalue_options eigenvalues{
      .count = 3, .which = "largest", .preconditioner = "amg,strength=0.1", .block_columns = 8, .rtol = 1e-5};
  const auto read_back = options_from_string<eigenvalue_options>(options_to_string(eigenvalues));
  CHECK(read_back.amg.strength == 0.1);
  CHECK((read_back.count == 3 && read_back.which == "largest" && read_back.block_columns == 8));
  CHECK((read_back.preconditioner == "amg" && read_back.rtol == 1e-5));
  const std::string of_ilu = options_to_string(linear_solver_options{.preconditioner = "ilu,drop=0.1,pivoting=0.5"});
  CHECK(of_ilu.find("preconditioner=ilu,amg_") != std::string::npos);
  CHECK(of_ilu.find("ilu_drop=0.1,") != std::string::npos);
  CHECK(options_from_string<linear_solver_options>(of_ilu) ==
        linear_solver_options{.preconditioner = "ilu", .ilu = {.drop = 0.1, .pivoting = 0.5}});
  const std::string of_polynomial = options_to_string(linear_solver_options{
      .preconditioner = "chebyshev,degree=7", .block_jacobi = {.offsets = {0, 2}}, .neumann = {.damping = 0.5}});
  CHECK(options_from_string<linear_solver_options>(of_polynomial) ==
        linear_solver_options{.preconditioner = "chebyshev",
                              .block_jacobi = {.offsets = {0, 2}},
                              .chebyshev = {.degree = 7},
                              .neumann = {.damping = 0.5}});
  CHECK(options_from_string<linear_solver_options>(
            options_to_string(linear_solver_options{.preconditioner = "ssor,omega=1.5", .ssor = {.sweeps = 3}})) ==
        linear_solver_options{.preconditioner = "ssor", .ssor = {.omega = 1.5, .sweeps = 3}});
  const std::string of_solve = options_to_string(
      linear_solver_options{.preconditioner = "solve,method=gmres,preconditioner=amg", .deflation = {1, 2}});
  CHECK(options_from_string<linear_solver_options>(of_solve) ==
        linear_solver_options{
            .preconditioner = "solve", .solve = {.method = "gmres", .preconditioner = "amg"}, .deflation = {1, 2}});
  // What follows the name counts before the struct.
  const std::string of_ic =
      options_to_string(linear_solver_options{.preconditioner = "ic,levels=2", .ilu = {.fill = 5, .levels = 1}});
  CHECK(options_from_string<linear_solver_options>(of_ic) ==
        linear_solver_options{.preconditioner = "ic", .ilu = {.fill = 5, .levels = 2}});
  const std::string of_spai = options_to_string(linear_solver_options{.preconditioner = "spai,power=2,most=9"});
  CHECK(of_spai.find("fsai_power=2,") != std::string::npos);
  CHECK(options_from_string<linear_solver_options>(of_spai) ==
        linear_solver_options{.preconditioner = "spai", .fsai = {.power = 2, .most = 9}});

  minimizer_options minimizer;
  minimizer.tolerances.function = 1.0 / 3;
  minimizer.damping = "classic";
  const std::string text = options_to_string(minimizer);
  CHECK(text.find("damping=classic") != std::string::npos);
  CHECK(options_to_string(options_from_string<minimizer_options>(text)) == text);
  const std::string equations = options_to_string(nonlinear_solver_options{});
  CHECK(options_to_string(options_from_string<nonlinear_solver_options>(equations)) == equations);
}

TEST_CASE("text that is no options is refused by the key's name", "[options]") {
  const auto linear = refusal<linear_solver_options>;
  const std::string reading = "reading options: ";
  CHECK(linear("tol=1e-8") ==
        reading +
            "there is no option called 'tol'. Use method, max_iterations, deadline, executor, unroll, "
            "programmatic_launch, history_capacity, threads, check_pointers, preconditioner, amg_precision, "
            "amg_coarsening, amg_strength, amg_interpolation_entries, amg_aggressive_levels, amg_coarsest_rows, "
            "amg_most_levels, amg_cycle, amg_revisited_level, "
            "amg_smoother, amg_sweeps, "
            "amg_unknowns_a_node, amg_refresh, amg_refresh_growth, amg_near_null_space, "
            "amg_coordinates, multigrid_precision, multigrid_cycle, multigrid_sweeps, multigrid_coarsest_rows, "
            "ilu_drop, ilu_fill, ilu_levels, ilu_matching, "
            "ilu_pivoting, ilu_order, fsai_power, fsai_drop, fsai_most, fsai_precision, fsai_order, block_jacobi_rows, "
            "block_jacobi_blocks, block_jacobi_precision, block_jacobi_offsets, ssor_omega, ssor_sweeps, schwarz_rows, "
            "schwarz_overlap, "
            "schwarz_precision, chebyshev_degree, "
            "chebyshev_ratio, chebyshev_lanczos_steps, neumann_degree, neumann_damping, neumann_lanczos_steps, "
            "solve_method, solve_iterations, solve_rtol, solve_preconditioner, solve_precision, "
            "deflation, null_space, null_space_vectors, format, scaling, permutation, matrix_values, rtol, atol, dtol, "
            "restart, shadow_dimension, polynomial_degree, least_eigenvalue, greatest_eigenvalue, lanczos_steps, "
            "keep_best, "
            "callback_memory, transport, device");
  CHECK(refusal<minimizer_options>("rtol=1").find("called 'rtol'. Use method") != std::string::npos);
  CHECK(linear("rtol=1e-8,rtol=1e-8") == reading + "rtol is given twice. Give it once");
  CHECK(linear("rtol=small") == reading + "rtol is 'small'. Give a number, as 1e-8 or inf");
  CHECK(linear("rtol=1e-8x") == reading + "rtol is '1e-8x'. Give a number, as 1e-8 or inf");
  CHECK(linear("rtol=") == reading + "rtol is ''. Give a number, as 1e-8 or inf");
  CHECK(linear("max_iterations=1e3") == reading + "max_iterations is '1e3'. Give a whole number, as 100");
  CHECK(linear("unroll=99999999999") == reading + "unroll is '99999999999'. Give a whole number, as 100");
  CHECK(linear("programmatic_launch=yes") == reading + "programmatic_launch is 'yes'. Give true or false");
  CHECK(linear("cg") == reading + "'cg' is no option. Write key=value, with commas between");
  CHECK(linear("rtol=1,,atol=1") == reading + "'' is no option. Write key=value, with commas between");
  CHECK(linear("rtol=1,") == reading + "there is nothing after the last comma. Leave that comma out");
  CHECK(linear(",").find("'' is no option") != std::string::npos);
}

TEST_CASE("options not named keep the values of the start", "[options]") {
  linear_solver_options start;
  start.method = "minres";
  start.rtol = 1e-3;
  const auto read = options_from_string<linear_solver_options>("rtol=1e-5, restart=7", start);
  CHECK(read.method == "minres");
  CHECK(read.rtol == 1e-5);
  CHECK(read.restart == 7);
  CHECK(options_from_string<linear_solver_options>("", start) == start);
}

}  // namespace whilst_test
