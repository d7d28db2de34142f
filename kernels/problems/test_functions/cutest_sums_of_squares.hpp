#pragma once

#include "kernels/problems/test_functions/blocks.hpp"
#include "kernels/problems/test_functions/cutest_problem.hpp"
#include "kernels/problems/test_functions/fixed_size.hpp"
#include "kernels/problems/test_functions/variable_size.hpp"

/// Problems of More, Garbow and Hillstrom that CUTEst has in any size, some from another start. See
/// kernels/problems/test_functions/cutest.hpp.
namespace whilst::test_functions {

/// Their minimum is 0.
struct solvable_residuals {
  static std::optional<known_minimum> minimum(index_type) { return known_minimum{0}; }
};

/// Blocks of Width unknowns, F each.
template <class F, int Width>
struct sum_over_blocks : sizes_from<Width, Width>, solvable_residuals {
  struct block {
    static constexpr int unknowns = Width;
    template <class S>
    WHILST_HD S operator()(index_type, const S* x) const {
      return sum_of_squares(one(), x);
    }
  };
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    add(F::name, block{}, neighbours<Width>(0, n, Width));
  }
  static double start(index_type j, index_type) { return one().start(j % Width); }

 private:
  WHILST_HD static F one() {
    F f{};
    if constexpr (requires { F::width; }) f.n = Width;
    return f;
  }
};

/// One term per residual of F, which reads a few neighbours.
template <class F, index_type Least>
struct sum_over_windows : sizes_from<Least>, solvable_residuals {
  template <class Add>
  static void wire(std::int32_t n, const Add& add) {
    const auto [block, unknowns] = residual_blocks(F{n});
    add(F::name, squares_of<residual_of_few<F>>{block}, unknowns);
  }
};

/// The paper's problem 31. CUTEst's file takes cubes for squares in part of the band; the start is CUTEst's.
struct brybnd : sum_over_windows<broyden_banded, 7> {
  static constexpr const char* name = "BRYBND";
  static double start(index_type, index_type) { return 1; }
};
struct morebv : sum_over_windows<discrete_boundary_value, 3> {
  static constexpr const char* name = "MOREBV";
  static double start(index_type j, index_type n) { return discrete_boundary_value{n}.start(j); }
};
struct powellsg : sum_over_blocks<extended_powell_singular, 4> {
  static constexpr const char* name = "POWELLSG";
};
struct srosenbr : sum_over_blocks<extended_rosenbrock, 2> {
  static constexpr const char* name = "SROSENBR";
};
struct woods : sum_over_blocks<wood, 4> {
  static constexpr const char* name = "WOODS";
};

using summed_squares_problems = problem_list<brybnd, morebv, powellsg, srosenbr, woods>;

}  // namespace whilst::test_functions
