// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "tests/nonlinear/minimizer_functions.hpp"

#include "kernels/problems/test_functions/test_functions.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst_test {

namespace {

using whilst::partially_separable;
namespace problems = whilst::test_functions;

struct spring {
  static constexpr int unknowns = 2;
  template <class S>
  WHILST_HD S operator()(whilst::index_type e, const S* x) const {
    const S d = x[0] - x[1];
    return spring_line::stiffness(e) / 2 * (d * d);
  }
};
struct load {
  static constexpr int unknowns = 1;
  template <class S>
  WHILST_HD S operator()(whilst::index_type e, const S* x) const {
    return spring_line::tie(e) / 2 * (x[0] * x[0]) - spring_line::load(e) * x[0];
  }
};

struct rosenbrock_pair {
  static constexpr int unknowns = 2;
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    const S a = x[1] - x[0] * x[0], b = 1.0 - x[0];
    return 100.0 * (a * a) + b * b;
  }
};

struct scaled_quadratic {
  static constexpr int unknowns = 2;
  double scale;
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    const S a = x[0] - 1.0, b = x[1] + 2.0;
    return scale * (a * a + a * b + 1.5 * (b * b));
  }
};

struct shape_term {
  static constexpr int unknowns = 1;
  shape what;
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    using std::exp, std::log;
    constexpr double infinity = HUGE_VAL;
    const S& at = x[0];
    switch (what) {
      case shape::constant:
        return S(3.0);
      case shape::square:
        return at * at;
      case shape::minus_square:
        return -(at * at);
      case shape::falling:
        return -at;
      case shape::falling_cubic:
        return -(at * at * at);
      case shape::decaying:
        return exp(-at);
      case shape::barrier:
        return at - log(at);
      case shape::wall:
        return at > 3.0 ? S(infinity) : (at - 5.0) * (at - 5.0);
      case shape::hole:
        return at > 2.0 ? S(-infinity) : -at;
      case shape::infinite:
        return S(infinity);
      case shape::minus_infinite:
        return S(-infinity);
      case shape::not_a_number:
        return S(infinity - infinity);
    }
    return S(0.0);
  }
};

/// One residual, squared, a term.
template <class Problem, int N>
struct squared {
  static constexpr int unknowns = N;
  Problem problem;
  template <class S>
  WHILST_HD S operator()(whilst::index_type e, const S* x) const {
    const S r = problem.residual(e, x);
    return r * r;
  }
};

std::vector<std::int32_t> counted(whilst::index_type n, int step = 1) {
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < n; i += step) all.push_back(i);
  return all;
}

template <int N, class Problem>
bundled_function bundled(whilst::place where, const Problem& problem, double least) {
  bundled_function made{nullptr, {}, least};
  auto f = std::make_unique<partially_separable<double>>(where, N);
  std::vector<std::int32_t> unknowns;
  for (whilst::index_type e = 0; e < problem.count(); ++e)
    for (std::int32_t j = 0; j < N; ++j) unknowns.push_back(j);
  f->add(Problem::name, squared<Problem, N>{problem}, unknowns);
  for (whilst::index_type j = 0; j < N; ++j) made.start.push_back(problem.start(j));
  made.f = std::move(f);
  return made;
}

}  // namespace

Eigen::SparseMatrix<double> spring_line::matrix(int n) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, tie(i));
    if (i + 1 == n) break;
    entries.emplace_back(i, i, stiffness(i));
    entries.emplace_back(i + 1, i + 1, stiffness(i));
    entries.emplace_back(i, i + 1, -stiffness(i));
    entries.emplace_back(i + 1, i, -stiffness(i));
  }
  Eigen::SparseMatrix<double> A(n, n);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}
Eigen::VectorXd spring_line::right_hand_side(int n) {
  Eigen::VectorXd b(n);
  for (int i = 0; i < n; ++i) b[i] = load(i);
  return b;
}

template <class T>
function<T> make_spring_line(whilst::place where, whilst::index_type n) {
  auto f = std::make_unique<partially_separable<T>>(where, n);
  std::vector<std::int32_t> neighbours;
  for (std::int32_t i = 0; i + 1 < n; ++i) {
    neighbours.push_back(i);
    neighbours.push_back(i + 1);
  }
  f->add("springs", spring{}, neighbours);
  f->add("loads", load{}, counted(n));
  return f;
}

template <class T>
function<T> make_rosenbrock(whilst::place where, whilst::index_type n) {
  auto f = std::make_unique<partially_separable<T>>(where, n);
  f->add("pairs", rosenbrock_pair{}, counted(n));
  return f;
}
double rosenbrock_value(const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); i += 2)
    sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
  return sum;
}
std::vector<double> rosenbrock_gradient(const std::vector<double>& x) {
  std::vector<double> g(x.size());
  for (std::size_t i = 0; i < x.size(); i += 2) {
    const double a = x[i + 1] - x[i] * x[i];
    g[i] = -400 * x[i] * a - 2 * (1 - x[i]);
    g[i + 1] = 200 * a;
  }
  return g;
}

function<double> make_scaled_quadratic(whilst::place where, double scale) {
  auto f = std::make_unique<partially_separable<double>>(where, 2);
  f->add("a scaled quadratic", scaled_quadratic{scale}, counted(2));
  return f;
}

template <class T>
function<T> make_shapes(whilst::place where, const std::vector<shape>& shapes) {
  auto f = std::make_unique<partially_separable<T>>(where, static_cast<whilst::index_type>(shapes.size()));
  for (std::size_t i = 0; i < shapes.size(); ++i)
    f->add("shape", shape_term{shapes[i]}, std::vector{static_cast<std::int32_t>(i)});
  return f;
}

bundled_function make_bundled(whilst::place where, const std::string& name) {
  if (name == "beale") return bundled<2>(where, problems::beale{}, 0);
  if (name == "helical_valley") return bundled<3>(where, problems::helical_valley{}, 0);
  if (name == "powell_singular") return bundled<4>(where, problems::powell_singular{}, 0);
  if (name == "wood") return bundled<4>(where, problems::wood{}, 0);
  return bundled<4>(where, problems::brown_and_dennis{}, 85822.2);
}

template function<float> make_spring_line<float>(whilst::place, whilst::index_type);
template function<double> make_spring_line<double>(whilst::place, whilst::index_type);
template function<float> make_rosenbrock<float>(whilst::place, whilst::index_type);
template function<double> make_rosenbrock<double>(whilst::place, whilst::index_type);
template function<float> make_shapes<float>(whilst::place, const std::vector<shape>&);
template function<double> make_shapes<double>(whilst::place, const std::vector<shape>&);

}  // namespace whilst_test
