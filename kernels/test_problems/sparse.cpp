// compiled by nvcc where CUDA is on
#include <cstdint>
#include <vector>

#include "kernels/test_problems/parts.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst::test_functions {
namespace {

/// All residuals of a block of unknowns, squared and added up. Each block is the function at n = width.
template <class F>
struct block_of_residuals {
  static constexpr int unknowns = F::width;
  template <class S>
  WHILST_HD S operator()(index, const S* x) const {
    S sum = 0;
    for (int i = 0; i < F::width; ++i) {
      const S r = F{F::width}.residual(i, x);
      sum += r * r;
    }
    return sum;
  }
};

/// One residual squared, of the unknowns from first(i) on.
template <class F>
struct squared_residual_of_window {
  static constexpr int unknowns = F::width;
  F f;
  template <class S>
  struct shifted {
    const S* x;
    index first;
    WHILST_HD const S& operator[](index j) const { return x[j - first]; }
  };
  template <class S>
  WHILST_HD S operator()(index i, const S* x) const {
    const S r = f.residual(i, shifted<S>{x, f.first(i)});
    return r * r;
  }
};

template <class F>
bool is_named(std::string_view name) {
  return dashed(F::name) == name;
}

template <class F>
made_problem make_blocks(place where, index n) {
  std::vector<std::int32_t> unknowns(static_cast<std::size_t>(n));
  for (std::size_t j = 0; j < unknowns.size(); ++j) unknowns[j] = static_cast<std::int32_t>(j);
  auto f = std::make_unique<partially_separable<double>>(where, n);
  f->add(F::name, block_of_residuals<F>{}, unknowns);
  return f;
}

template <class F>
made_problem make_windows(place where, index n) {
  const F function{n};
  std::vector<std::int32_t> unknowns;
  unknowns.reserve(static_cast<std::size_t>(n * F::width));
  for (index i = 0; i < function.count(); ++i)
    for (int k = 0; k < F::width; ++k) {
      const index j = function.first(i) + k;
      unknowns.push_back(j >= 0 && j < n ? static_cast<std::int32_t>(j) : -1);
    }
  auto f = std::make_unique<partially_separable<double>>(where, n);
  f->add(F::name, squared_residual_of_window<F>{function}, unknowns);
  return f;
}

}  // namespace

made_problem make_sparse(place where, std::string_view name, index n) {
  if (is_named<extended_rosenbrock>(name)) return make_blocks<extended_rosenbrock>(where, n);
  if (is_named<extended_powell_singular>(name)) return make_blocks<extended_powell_singular>(where, n);
  if (is_named<discrete_boundary_value>(name)) return make_windows<discrete_boundary_value>(where, n);
  if (is_named<broyden_tridiagonal>(name)) return make_windows<broyden_tridiagonal>(where, n);
  if (is_named<broyden_banded>(name)) return make_windows<broyden_banded>(where, n);
  return nullptr;
}

}  // namespace whilst::test_functions
