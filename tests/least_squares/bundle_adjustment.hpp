#pragma once

// Cameras that look at points, made up: where the truth is known. For files that nvcc compiles where CUDA is on.

#include <memory>
#include <random>
#include <vector>

#include "whilst/partially_separable.hpp"

namespace whilst_test {

/// Where a camera sees a point: the model of N. Snavely's Bundler. A camera has 9 unknowns: a rotation (Rodrigues'
/// vector), a translation, the focal length and two coefficients of radial distortion; a point has 3. Block e is what
/// one camera saw of one point, times a weight.
struct reprojection {
  static constexpr int unknowns = 12, residuals = 2;
  const double* seen;
  double weight;

  template <class S>
  WHILST_HD static void project(const S* camera, const S* point, S* image) {
    using std::cos, std::sin, std::sqrt;
    const S *w = camera, *t = camera + 3;
    const S angle = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-30);  // differentiable at no rotation
    const S c = cos(angle), s = sin(angle), k[3] = {w[0] / angle, w[1] / angle, w[2] / angle};
    const S along = (k[0] * point[0] + k[1] * point[1] + k[2] * point[2]) * (1.0 - c);
    S p[3];
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, l = (i + 2) % 3;
      p[i] = point[i] * c + (k[j] * point[l] - k[l] * point[j]) * s + k[i] * along + t[i];
    }
    const S x = -p[0] / p[2], y = -p[1] / p[2], square = x * x + y * y;
    const S stretch = camera[6] * (1.0 + square * (camera[7] + square * camera[8]));
    image[0] = stretch * x;
    image[1] = stretch * y;
  }
  template <class S>
  WHILST_HD void operator()(whilst::index_type e, const S* x, S* r) const {
    project(x, x + 9, r);
    for (int i = 0; i < 2; ++i) r[i] = weight * (r[i] - seen[2 * e + i]);
  }
};

/// How far unknown number first_unknown + e is from a value, times a weight: to hold fast what nobody can see.
struct held {
  static constexpr int unknowns = 1, residuals = 1;
  const double* value;
  double weight;
  template <class S>
  WHILST_HD void operator()(whilst::index_type e, const S* x, S* r) const {
    r[0] = weight * (x[0] - value[e]);
  }
};

/// Unknowns: 9 of each camera, then 3 of each point.
struct bundle {
  int cameras, points;
  std::vector<double> truth, start, seen;
  std::vector<std::int32_t> unknowns;

  int size() const { return 9 * cameras + 3 * points; }

  /// Cameras on a ring look at points in a cube within it; each point is seen by about half of them. What is seen is
  /// off by noise, standard deviations in pixels; the start is off by `away` of everything.
  bundle(int cameras, int points, double noise, double away) : cameras(cameras), points(points) {
    std::mt19937 generator(7);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int c = 0; c < cameras; ++c) {
      const double turn = 6.283185307179586 * c / cameras;  // the point at the origin comes to (0, 0, -10)
      const std::vector<double> camera{0.1 * uniform(generator),
                                       turn > 3.2 ? turn - 6.283185307179586 : turn,
                                       0.1 * uniform(generator),
                                       uniform(generator),
                                       uniform(generator),
                                       -10 + uniform(generator),
                                       500 + 20 * uniform(generator),
                                       0.02 * uniform(generator),
                                       0.002 * uniform(generator)};
      truth.insert(truth.end(), camera.begin(), camera.end());
    }
    for (int k = 0; k < 3 * points; ++k) truth.push_back(2 * uniform(generator));
    for (int p = 0; p < points; ++p)
      for (int c = 0; c < cameras; ++c) {
        if ((7 * p + 3 * c) % 4 >= 2) continue;
        double image[2];
        reprojection::project<double>(&truth[static_cast<std::size_t>(9 * c)],
                                      &truth[static_cast<std::size_t>(9 * cameras + 3 * p)], image);
        for (const double coordinate : image) seen.push_back(coordinate + noise * normal(generator));
        for (std::int32_t k = 0; k < 9; ++k) unknowns.push_back(9 * c + k);
        for (std::int32_t k = 0; k < 3; ++k) unknowns.push_back(9 * cameras + 3 * p + k);
      }
    start = truth;
    for (int k = 0; k < size(); ++k) {
      const bool distorts = k < 9 * cameras && k % 9 > 6, focal = k < 9 * cameras && k % 9 == 6;
      start[static_cast<std::size_t>(k)] += away * uniform(generator) * (distorts ? 0.01 : focal ? 100 : 1);
    }
  }

  /// The function with the numbers that it points to. Where all that is seen stays as it is, all cameras and points may
  /// be moved, turned and blown up together: the first camera is held where it is, and one number of the second.
  template <class T>
  struct on_place {
    whilst::buffer<double> seen, first;
    whilst::partially_separable<T> f;
    on_place(whilst::place where, const bundle& of, bool hold = true)
        : seen(where, static_cast<whilst::index_type>(of.seen.size())), first(where, 7), f(where, of.size()) {
      seen.upload(of.seen.data());
      f.add_residuals("reprojections", reprojection{seen.data(), 1}, of.unknowns);
      if (!hold) return;
      std::vector<double> values(of.truth.begin(), of.truth.begin() + 6);
      values.push_back(of.truth[9 + 5]);
      first.upload(values.data());
      f.add_residuals("held", held{first.data(), 100}, std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 9 + 5});
    }
  };
};

}  // namespace whilst_test
