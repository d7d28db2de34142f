// compiled by nvcc where CUDA is on
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/problems/test_functions/blocks.hpp"
#include "kernels/problems/test_problems/parts.hpp"
#include "whilst/nonlinear/functions/partially_separable.hpp"

namespace whilst::test_functions {
namespace {

/// All residuals of one block of unknowns. Each block is the function at n = width.
template <class F>
struct residuals_of_block {
  static constexpr int unknowns = F::width, equations = F::width;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    for (int i = 0; i < F::width; ++i) r[i] = F{F::width}.residual(i, x);
  }
};

template <class F>
bool is_named(std::string_view name) {
  return dashed(F::name) == name;
}

template <class F>
made_problem make_blocks(place where, index_type n) {
  std::vector<std::int32_t> unknowns(static_cast<std::size_t>(n));
  std::iota(unknowns.begin(), unknowns.end(), 0);
  auto f = std::make_unique<partially_separable<double>>(where, n);
  f->add(F::name, squares_of<residuals_of_block<F>>{}, unknowns);
  return f;
}

template <class F>
made_problem make_windows(place where, index_type n) {
  const auto [block, unknowns] = residual_blocks(F{n});
  auto f = std::make_unique<partially_separable<double>>(where, n);
  f->add(F::name, squares_of<residual_of_few<F>>{block}, unknowns);
  return f;
}

}  // namespace

made_problem make_sparse(place where, std::string_view name, index_type n) {
  if (is_named<extended_rosenbrock>(name)) return make_blocks<extended_rosenbrock>(where, n);
  if (is_named<extended_powell_singular>(name)) return make_blocks<extended_powell_singular>(where, n);
  if (is_named<discrete_boundary_value>(name)) return make_windows<discrete_boundary_value>(where, n);
  if (is_named<broyden_tridiagonal>(name)) return make_windows<broyden_tridiagonal>(where, n);
  if (is_named<broyden_banded>(name)) return make_windows<broyden_banded>(where, n);
  return nullptr;
}

}  // namespace whilst::test_functions
