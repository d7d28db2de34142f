#pragma once

// A function whose Hessians are those of elliptic problems, for newton-cg with preconditioners; and what is known of it
// by other means.

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/SparseCholesky>

#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst_test {

/// A spring between two points that stiffens with its extension d: d^2 / 2 + hardening d^4 / 4.
struct hardening_spring {
  static constexpr int unknowns = 2;
  double hardening;
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    const S d = x[0] - x[1];
    return 0.5 * d * d + 0.25 * hardening * d * d * d * d;
  }
};
struct even_load {
  static constexpr int unknowns = 1;
  double load;
  template <class S>
  WHILST_HD S operator()(whilst::index_type, const S* x) const {
    return -load * x[0];
  }
};

/// Springs along the edges of a grid of m x m points, held at its rim, under a load at each point.
struct membrane {
  int m;
  double hardening, load = 1;

  std::vector<std::int32_t> ends() const {
    std::vector<std::int32_t> all;
    const auto point = [&](int i, int j) { return i < 0 || j < 0 || i >= m || j >= m ? -1 : i * m + j; };
    for (int i = -1; i < m; ++i) {
      for (int j = -1; j < m; ++j) {
        if (j >= 0) all.insert(all.end(), {point(i, j), point(i + 1, j)});
        if (i >= 0) all.insert(all.end(), {point(i, j), point(i, j + 1)});
      }
    }
    return all;
  }
  template <class T>
  function<T> on(whilst::place where) const {
    auto f = std::make_unique<whilst::partially_separable<T>>(where, m * m);
    std::vector<std::int32_t> points(static_cast<std::size_t>(m * m));
    for (std::size_t k = 0; k < points.size(); ++k) points[k] = static_cast<std::int32_t>(k);
    f->add("springs", hardening_spring{hardening}, ends());
    f->add("load", even_load{load}, points);
    return f;
  }
  /// 0 at the rim, whose index is -1.
  template <class T>
  static long double entry(const std::vector<T>& x, std::int32_t k) {
    return k < 0 ? 0.0L : static_cast<long double>(x[static_cast<std::size_t>(k)]);
  }
  /// The norm of the gradient, in extended precision.
  template <class T>
  double gradient_norm(const std::vector<T>& x) const {
    std::vector<long double> g(x.size(), -static_cast<long double>(load));
    const std::vector<std::int32_t> all = ends();
    for (std::size_t e = 0; e < all.size(); e += 2) {
      const long double d = entry(x, all[e]) - entry(x, all[e + 1]), force = d + hardening * d * d * d;
      if (all[e] >= 0) g[static_cast<std::size_t>(all[e])] += force;
      if (all[e + 1] >= 0) g[static_cast<std::size_t>(all[e + 1])] -= force;
    }
    long double square = 0;
    for (const long double entry : g) square += entry * entry;
    return static_cast<double>(std::sqrt(square));
  }
  /// Without hardening: the solution of the linear system, by Cholesky factorization.
  Eigen::VectorXd solution() const {
    std::vector<Eigen::Triplet<double>> entries;
    const std::vector<std::int32_t> all = ends();
    for (std::size_t e = 0; e < all.size(); e += 2) {
      for (const std::size_t k : {e, e + 1})
        if (all[k] >= 0) entries.emplace_back(all[k], all[k], 1.0);
      if (all[e] >= 0 && all[e + 1] >= 0)
        for (const auto& [i, j] : {std::pair(all[e], all[e + 1]), std::pair(all[e + 1], all[e])})
          entries.emplace_back(i, j, -1.0);
    }
    Eigen::SparseMatrix<double> A(m * m, m * m);
    A.setFromTriplets(entries.begin(), entries.end());
    return Eigen::SimplicialLLT<Eigen::SparseMatrix<double>>(A).solve(Eigen::VectorXd::Constant(m * m, load));
  }
};

template <class T>
auto maker_of(const membrane& what) {
  return [what](whilst::place where) { return what.on<T>(where); };
}

inline whilst::minimizer_options newton_with(const std::string& preconditioner, const std::string& executor = "auto") {
  whilst::minimizer_options options;
  options.method = "newton-cg";
  options.preconditioner = preconditioner;
  options.executor = executor;
  return options;
}

/// Gradients of a membrane are sums of some ten numbers of the load's size and of forces up to m times that. Each is
/// rounded, as x is; their norm gathers m m of them.
template <class T>
double attainable_gradient(const membrane& what) {
  return 16.0 * what.m * what.m * static_cast<double>(std::numeric_limits<T>::epsilon()) * what.load;
}

}  // namespace whilst_test
