// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "tests/nonlinear/nonlinear_systems.hpp"

#include "kernels/problems/test_problems/test_systems.hpp"
#include "tests/problems/published_systems.hpp"
#include "whilst/assembled_equations.hpp"

namespace whilst_test {

namespace {

using std::size_t;
using whilst::index_type;
using indexes = std::vector<std::int32_t>;

struct by_hand_block {
  static constexpr int unknowns = 2, equations = 2;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    using std::sin;
    r[0] = 3.0 * x[0] - x[1] - 4.0 - sin(x[1] - 2.0);
    r[1] = -x[0] + 2.0 * x[1] * x[1] - 6.0;
  }
};
struct cosine_block {
  static constexpr int unknowns = 1, equations = 1;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    using std::cos;
    r[0] = x[0] - cos(x[0]);
  }
};
WHILST_HD double coefficient(index_type i, int k) {
  const double off[3] = {-0.25, 0, 0.125};
  return k == 1 ? 1 + 0.25 * static_cast<double>(i % 3) : off[k];
}
WHILST_HD double load(index_type i) { return static_cast<double>(i * 37 % 11) - 5; }
struct linear_block {
  static constexpr int unknowns = 3, equations = 1;
  template <class S>
  WHILST_HD void operator()(index_type e, const S* x, S* r) const {
    r[0] = coefficient(e, 0) * x[0] + coefficient(e, 1) * x[1] + coefficient(e, 2) * x[2] - load(e);
  }
};
struct logarithm_block {
  static constexpr int unknowns = 1, equations = 1;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    using std::log;
    r[0] = x[0] > 0.0 ? log(x[0]) : S(HUGE_VAL);
  }
};
struct square_plus_one_block {
  static constexpr int unknowns = 1, equations = 1;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    r[0] = x[0] * x[0] + 1.0;
  }
};
struct parallel_lines_block {
  static constexpr int unknowns = 2, equations = 2;
  template <class S>
  WHILST_HD void operator()(index_type, const S* x, S* r) const {
    r[0] = x[0] + x[1] - 2.0;
    r[1] = 2.0 * x[0] + 2.0 * x[1] - 5.0;
  }
};
struct no_number_block {
  static constexpr int unknowns = 1, equations = 1;
  template <class S>
  WHILST_HD void operator()(index_type e, const S* x, S* r) const {
    r[0] = e == 1 ? S(std::nan("")) : x[0];
  }
};

indexes counted(index_type n) {
  indexes all;
  for (std::int32_t i = 0; i < n; ++i) all.push_back(i);
  return all;
}
/// Of each unknown the one before, itself and the one after.
indexes with_neighbours(index_type n) {
  indexes all;
  for (std::int32_t i = 0; i < n; ++i) {
    all.push_back(i - 1);
    all.push_back(i);
    all.push_back(i + 1 < n ? i + 1 : -1);
  }
  return all;
}
/// The name of one that is bundled; empty for the others.
std::string bundled(problem what) {
  switch (what) {
    case problem::broyden_tridiagonal:
      return "broyden-tridiagonal";
    case problem::boundary_value:
      return "discrete-boundary-value";
    case problem::rosenbrock:
      return "extended-rosenbrock";
    case problem::powell_singular:
      return "extended-powell-singular";
    case problem::bratu:
      return "bratu";
    default:
      return "";
  }
}

}  // namespace

template <class T>
system_of<T> make_system(whilst::place where, problem what, index_type n) {
  if (const std::string name = bundled(what); !name.empty()) return whilst::make_test_system<T>(where, name, n);
  auto F = std::make_unique<whilst::assembled_equations<T>>(where, n);
  const indexes own = counted(n);
  switch (what) {
    case problem::by_hand:
      F->add("by hand", by_hand_block{}, own, own);
      break;
    case problem::cosines:
      F->add("cosines", cosine_block{}, own, own);
      break;
    case problem::linear:
      F->add("rows", linear_block{}, with_neighbours(n), own);
      break;
    case problem::upside_down:
      F->add("rows", linear_block{}, with_neighbours(n), indexes(own.rbegin(), own.rend()));
      break;
    case problem::logarithms:
      F->add("logarithms", logarithm_block{}, own, own);
      break;
    case problem::square_plus_one:
      F->add("squares", square_plus_one_block{}, own, own);
      break;
    case problem::parallel_lines:
      F->add("lines", parallel_lines_block{}, own, own);
      break;
    case problem::no_number:
      F->add("no numbers", no_number_block{}, own, own);
      break;
    default:
      break;
  }
  return F;
}
template system_of<float> make_system<float>(whilst::place, problem, index_type);
template system_of<double> make_system<double>(whilst::place, problem, index_type);

namespace {

template <class T>
struct evaluate_given {
  const std::int32_t *offsets, *columns;
  const T *values, *b, *x;
  T* residual;
  WHILST_HD void operator()(index_type i) const {
    T sum = b[i];
    for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k) sum += values[k] * x[columns[k]];
    residual[i] = sum;
  }
};

template <class Value>
whilst::buffer<Value> on_place(whilst::place where, const std::vector<Value>& values) {
  whilst::buffer<Value> made(where, static_cast<index_type>(values.size()));
  made.upload(values.data());
  return made;
}

}  // namespace

template <class T>
typename given_equations<T>::arrays given_equations<T>::copied(const triplets<T>& from) const {
  return {on_place(where_, from.offsets), on_place(where_, from.columns), on_place(where_, from.values)};
}
template <class T>
given_equations<T>::given_equations(whilst::place where, const triplets<T>& A, const triplets<T>& told,
                                    const std::vector<T>& b)
    : where_(where), n_(A.n), A_(copied(A)), told_(copied(told)), b_(on_place(where, b)), residual_(where, n_) {
  this->told = {n_, told_.columns.size(), told_.offsets.data(), told_.columns.data(), told_.values.data()};
}
template <class T>
whilst::gathered<T> given_equations<T>::evaluate(whilst::recorder& run, const T* x) const {
  run.step("F", n_,
           evaluate_given<T>{A_.offsets.data(), A_.columns.data(), A_.values.data(), b_.data(), x, residual_.data()});
  return {residual_.data()};
}
template class given_equations<float>;
template class given_equations<double>;

std::vector<double> start_of(problem what, index_type n) {
  if (const std::string name = bundled(what); !name.empty()) return whilst::find_test_system(name, n).start;
  std::vector<double> x(static_cast<size_t>(n), 0);
  for (size_t i = 0; i < x.size(); ++i) {
    switch (what) {
      case problem::by_hand:
        x[i] = i == 0 ? 1 : 1.5;
        break;
      case problem::logarithms:
        x[i] = i % 2 ? 3 : 0.5;
        break;
      case problem::square_plus_one:
        x[i] = 0.6;
        break;
      default:
        break;
    }
  }
  return x;
}

std::vector<double> residual_of(problem what, const std::vector<double>& x) {
  if (const std::string name = bundled(what); !name.empty()) return published_residual(name, x);
  const size_t n = x.size();
  if (what == problem::upside_down) {
    const std::vector<double> F = residual_of(problem::linear, x);
    return {F.rbegin(), F.rend()};
  }
  std::vector<double> F(n);
  const auto at = [&](size_t i) { return i < n ? x[i] : 0.0; };  // -1 is beyond n, too
  for (size_t i = 0; i < n; ++i) {
    const double before = at(i - 1), own = x[i], after = at(i + 1);
    switch (what) {
      case problem::by_hand:
        F[i] = i == 0 ? 3 * x[0] - x[1] - 4 - std::sin(x[1] - 2) : -x[0] + 2 * x[1] * x[1] - 6;
        break;
      case problem::cosines:
        F[i] = own - std::cos(own);
        break;
      case problem::linear:
        F[i] = -0.25 * before + (1 + 0.25 * static_cast<double>(i % 3)) * own + 0.125 * after -
               (static_cast<double>(i * 37 % 11) - 5);
        break;
      case problem::logarithms:
        F[i] = own > 0 ? std::log(own) : HUGE_VAL;
        break;
      case problem::square_plus_one:
        F[i] = own * own + 1;
        break;
      case problem::parallel_lines:
        F[i] = i == 0 ? x[0] + x[1] - 2 : 2 * x[0] + 2 * x[1] - 5;
        break;
      case problem::no_number:
        F[i] = i == 1 ? std::nan("") : own;
        break;
      default:
        break;
    }
  }
  return F;
}

double norm_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double value : v) sum += value * value;
  return std::sqrt(sum);
}

}  // namespace whilst_test
