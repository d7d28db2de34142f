// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "kernels/problems/elasticity/elastic_energies.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <Eigen/Dense>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/derivative_check.hpp"
#include "whilst/minimizer.hpp"
#include "whilst/partially_separable.hpp"

namespace whilst_test {

using namespace whilst::elastic;
using whilst::index_type;

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
using matrix3 = Eigen::Matrix3d;
using hessian12 = Eigen::Matrix<double, 12, 12>;

/// A term as check_derivatives calls it.
template <class Term>
struct of_term {
  Term term;
  index_type e;
  template <class S>
  S operator()(const S* x) const {
    return term(e, x);
  }
};
template <class Term>
whilst::derivative_check check(const Term& term, const double* x, index_type e = 0) {
  return whilst::check_derivatives<Term::unknowns>(of_term<Term>{term, e}, x);
}

std::mt19937 engine(7);
double uniform(double low = -1, double high = 1) { return std::uniform_real_distribution<double>(low, high)(engine); }
matrix3 random_matrix(double size = 1) {
  return matrix3::NullaryExpr([&] { return uniform(-size, size); });
}
matrix3 random_rotation() {
  const Eigen::Vector3d axis = Eigen::Vector3d(uniform(), uniform(), uniform()).normalized();
  return Eigen::AngleAxisd(uniform(0, 3), axis).toRotationMatrix();
}

/// Elements whose shape at rest is `shape`: its columns are the edges from vertex 0.
struct one_tetrahedron {
  std::vector<double> inverse, volume;
  neo_hookean term;
  explicit one_tetrahedron(const matrix3& shape, double mu = 2, double lambda = 5) {
    const matrix3 inverse_shape = shape.inverse();
    for (int k = 0; k < 3; ++k)
      for (int d = 0; d < 3; ++d) inverse.push_back(inverse_shape(k, d));
    volume = {std::abs(shape.determinant()) / 6};
    term = {1, inverse.data(), volume.data(), mu, lambda};
  }
};
std::array<double, 12> vertices(const Eigen::Vector3d& first, const matrix3& edges) {
  std::array<double, 12> x;
  for (int a = 0; a < 4; ++a)
    for (int c = 0; c < 3; ++c) x[static_cast<std::size_t>(3 * a + c)] = first[c] + (a > 0 ? edges(c, a - 1) : 0);
  return x;
}
matrix3 sensible_shape() { return matrix3::Identity() + random_matrix(0.3); }

template <int n>
Eigen::Matrix<double, n, n> full(const double* upper) {
  Eigen::Matrix<double, n, n> H;
  for (int i = 0; i < n; ++i)
    for (int j = i; j < n; ++j) H(i, j) = H(j, i) = upper[whilst::upper_packed(n, i, j)];
  return H;
}
template <class Term>
auto by_duals(const Term& term, const double* x) {
  using number = whilst::second_order_dual<double, Term::unknowns>;
  number variables[Term::unknowns];
  for (int k = 0; k < Term::unknowns; ++k) variables[k] = number::variable(x[k], k);
  return full<Term::unknowns>(term(0, static_cast<const number*>(variables)).hessian);
}
template <class Term>
auto own(const Term& term, const double* x, bool positive) {
  double upper[Term::unknowns * (Term::unknowns + 1) / 2];
  term.second_derivatives(0, x, positive, upper);
  return full<Term::unknowns>(upper);
}
/// The nearest positive semi-definite matrix, by another eigensolver than the one that the terms use.
template <class Matrix>
Matrix projected(const Matrix& H) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(H);
  return solver.eigenvectors() * solver.eigenvalues().cwiseMax(0).asDiagonal() * solver.eigenvectors().transpose();
}

/// Deformations with all that can go wrong: inverted, flat, a line, a point, equal stretches.
std::vector<matrix3> deformations() {
  std::vector<matrix3> all{matrix3::Identity(), random_rotation(), matrix3::Zero(), -matrix3::Identity()};
  for (int k = 0; k < 20; ++k) all.push_back(random_matrix(1.5));
  for (const double s : {0.0, 1e-9, -1e-9, -0.5}) {
    all.push_back(random_rotation() * Eigen::Vector3d(1.3, 0.7, s).asDiagonal() * random_rotation());
    all.push_back(random_rotation() * Eigen::Vector3d(1.3, s, s).asDiagonal() * random_rotation());
    all.push_back(random_rotation() * Eigen::Vector3d(0.8, 0.8, s).asDiagonal());
  }
  return all;
}

}  // namespace

TEST_CASE("elastic energies: derivatives agree with differences") {
  SECTION("a tetrahedron, inverted or not") {
    for (int k = 0; k < 3; ++k) {
      const one_tetrahedron one(sensible_shape());
      const auto x = vertices({0.1, 0.2, 0.3}, k == 0 ? random_matrix(1.5) : sensible_shape());
      const auto found = check(one.term, x.data());
      INFO(found.message);
      CHECK(found.agrees);
    }
  }
  SECTION("a spring, stretched or not") {
    const double stiffness = 3, length = 0.7;
    const green_spring spring{&stiffness, &length};
    for (const double stretch : {0.2, 0.9, 1.6}) {
      const double x[6] = {0.1, 0.2, 0.3, 0.1 + 0.6 * stretch * length, 0.2, 0.3 + 0.8 * stretch * length};
      CHECK(check(spring, x).agrees);
    }
  }
  SECTION("a vertex in contact with the floor and a sphere, moving, sliding") {
    const double stiffness[2] = {0, 50}, mass[2] = {1, 4}, target[6] = {0, 0, 0, 0.5, -0.3, 0.2}, drag[2] = {0, 2};
    const double normal[6] = {0, 1, 0, 0.6, 0.8, 0}, start[6] = {0, 0, 0, 0.3, 0.3, 0.1};
    obstacles where;
    where.floor = 0;
    where.spheres[0] = {{0, 0.5, 0}, 0.5};
    where.number_of_spheres = 1;
    where.distance = 0.01;
    const vertex_energy energy{{mass, target}, {stiffness, where}, {drag, normal, start}};
    const double touching[3] = {0.2, -0.02, 0.1}, free[3] = {3, 3, 3};
    CHECK(check(energy, touching, 1).agrees);
    CHECK(check(energy, touching, 0).agrees);
    CHECK(check(energy, free, 1).agrees);
    CHECK(check(energy.inertia, touching, 1).agrees);
    CHECK(check(energy.contact, touching, 1).agrees);
    CHECK(check(energy.friction, touching, 1).agrees);
    CHECK(energy.contact(1, touching) > 0);
    CHECK(energy.contact(0, touching) == 0);
    CHECK(energy.contact(1, free) == 0);
    // By hand: 1 cm above the floor contact begins, 2 cm below it is 3 cm deep.
    const double below[3] = {2, -0.02, 0};
    CHECK(energy.contact(1, below) == Approx(50.0 / 3 * std::pow(0.03, 3)).epsilon(16 * epsilon));
    // Along the normal nothing is dragged, across it all.
    const double along[3] = {0.3 + 0.6, 0.3 + 0.8, 0.1}, across[3] = {0.3 - 0.8, 0.3 + 0.6, 0.1};
    CHECK(std::abs(energy.friction(1, along)) < 16 * epsilon);
    CHECK(energy.friction(1, across) == Approx(1).epsilon(16 * epsilon));
  }
}

TEST_CASE("elastic energies: a tetrahedron's own Hessian is that of the duals") {
  for (const matrix3& F : deformations()) {
    const matrix3 shape = sensible_shape();
    const one_tetrahedron one(shape);
    const auto x = vertices({0.3, -0.2, 0.5}, F * shape);
    const hessian12 expected = by_duals(one.term, x.data());
    // A hundred operations an entry, on numbers as large as the largest entry.
    CHECK((own(one.term, x.data(), false) - expected).cwiseAbs().maxCoeff() <
          500 * epsilon * expected.cwiseAbs().maxCoeff());
  }
}

TEST_CASE("elastic energies: a tetrahedron's projected Hessian is the nearest positive one by F") {
  const one_tetrahedron one(matrix3::Identity());  // then F is the edges, vertex 0 aside
  bool some_differ = false;
  for (const matrix3& F : deformations()) {
    const auto x = vertices(Eigen::Vector3d::Zero(), F);
    const hessian12 H = own(one.term, x.data(), false), P = own(one.term, x.data(), true);
    const Eigen::Matrix<double, 9, 9> of_F = H.bottomRightCorner<9, 9>(), expected = projected(of_F);
    const double size = of_F.cwiseAbs().maxCoeff();
    CHECK((P.bottomRightCorner<9, 9>() - expected).cwiseAbs().maxCoeff() < 500 * epsilon * size);
    // Moving all of it changes nothing.
    for (int i = 0; i < 12; ++i)
      for (int c = 0; c < 3; ++c)
        CHECK(std::abs(P(i, c) + P(i, 3 + c) + P(i, 6 + c) + P(i, 9 + c)) < 500 * epsilon * size);
    some_differ = some_differ || (P - H).cwiseAbs().maxCoeff() > 0.1 * size;
  }
  CHECK(some_differ);
}

TEST_CASE("elastic energies: a spring's own Hessian") {
  const double stiffness = 3, length = 0.7;
  const green_spring spring{&stiffness, &length};
  for (const double stretch : {0.0, 0.2, 0.58, 0.9, 1.0, 1.6}) {
    const double x[6] = {0.1, 0.2, 0.3, 0.1 + 0.6 * stretch * length, 0.2, 0.3 + 0.8 * stretch * length};
    const auto H = by_duals(spring, x);
    const double size = H.cwiseAbs().maxCoeff();
    CHECK((own(spring, x, false) - H).cwiseAbs().maxCoeff() <= 100 * epsilon * size);
    CHECK((own(spring, x, true) - projected(H)).cwiseAbs().maxCoeff() <= 100 * epsilon * size);
  }
}

TEST_CASE("elastic energies: rotations cost nothing, and rest is rest") {
  const matrix3 shape = sensible_shape(), R = random_rotation(), F = sensible_shape();
  const one_tetrahedron one(shape);
  const auto deformed = vertices({0.1, 0.2, 0.3}, F * shape), turned = vertices({5, 6, 7}, R * F * shape);
  CHECK(one.term(0, turned.data()) == Approx(one.term(0, deformed.data())).epsilon(1000 * epsilon));
  const auto rest = vertices({5, 6, 7}, R * shape);
  CHECK(one.term(0, rest.data()) ==
        Approx(neo_hookean::rest_energy(one.term.mu, one.volume[0])).epsilon(1000 * epsilon));
  using number = whilst::dual<double, 12>;
  number variables[12];
  for (int k = 0; k < 12; ++k) variables[k] = number::variable(rest[static_cast<std::size_t>(k)], k);
  const number value = one.term(0, static_cast<const number*>(variables));
  for (const double g : value.gradient) CHECK(std::abs(g) < 1000 * epsilon * one.term.lambda);
}

TEST_CASE("elastic energies: a tetrahedron follows Hooke's law where strains are small") {
  const one_tetrahedron one(matrix3::Identity(), 2, 5);
  for (const double size : {1e-3, 1e-4}) {
    const matrix3 A = random_matrix(size), strain = (A + A.transpose()) / 2;
    const auto x = vertices({0, 0, 0}, matrix3::Identity() + A);
    const double mu = 2, lame = 5 - mu;
    const double hooke = one.volume[0] * (mu * strain.squaredNorm() + lame / 2 * strain.trace() * strain.trace());
    const double energy = one.term(0, x.data()) - neo_hookean::rest_energy(mu, one.volume[0]);
    // What is left out is of third order, and rounding is that of the constant.
    CHECK(std::abs(energy - hooke) < 20 * size * hooke + 20 * epsilon * one.volume[0] * mu);
  }
}

namespace {

/// Weights on unknowns.
struct pull {
  static constexpr int unknowns = 1;
  const double* force;
  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    return -force[e] * x[0];
  }
};

/// A bar of cubes, six tetrahedra each, that stands on y = 0 and leans on x = 0 and z = 0 without friction: it may
/// become thicker and thinner, and strains are the same everywhere under a load on its end.
struct bar {
  int width, height;
  double edge;
  std::vector<std::int32_t> unknowns;  ///< of each tetrahedron
  std::vector<double> inverse_shape, volume, start;
  std::vector<double> share_of_volume, share_of_end;  ///< of each vertex

  int vertex(int i, int j, int k) const { return (j * (width + 1) + i) * (width + 1) + k; }
  int vertices() const { return vertex(0, height + 1, 0); }

  bar(int width, int height, double edge) : width(width), height(height), edge(edge) {
    const auto n = static_cast<std::size_t>(vertices());
    share_of_volume.assign(n, 0);
    share_of_end.assign(n, 0);
    for (int j = 0; j <= height; ++j)
      for (int i = 0; i <= width; ++i)
        for (int k = 0; k <= width; ++k) start.insert(start.end(), {edge * i, edge * j, edge * k});
    std::vector<std::array<double, 9>> inverses;
    for (int j = 0; j < height; ++j)
      for (int i = 0; i < width; ++i)
        for (int k = 0; k < width; ++k) add_cube(i, j, k, inverses);
    for (std::size_t entry = 0; entry < 9; ++entry)
      for (const auto& one : inverses) inverse_shape.push_back(one[entry]);
  }
  /// A tetrahedron for each order of the axes, along which it goes from corner to corner: Kuhn's.
  void add_cube(int i, int j, int k, std::vector<std::array<double, 9>>& inverses) {
    int axes[3] = {0, 1, 2};
    do {
      int at[3] = {i, j, k}, corner[4];
      for (int a = 0; a < 4; ++a) {
        corner[a] = vertex(at[0], at[1], at[2]);
        if (a < 3) ++at[axes[a]];
      }
      matrix3 shape;
      for (int a = 0; a < 3; ++a)
        for (int c = 0; c < 3; ++c) shape(c, a) = coordinate(corner[a + 1], c) - coordinate(corner[0], c);
      const matrix3 inverse = shape.inverse();
      inverses.push_back({});
      for (int entry = 0; entry < 9; ++entry)
        inverses.back()[static_cast<std::size_t>(entry)] = inverse(entry / 3, entry % 3);
      volume.push_back(std::abs(shape.determinant()) / 6);
      int on_end = 0;
      for (const int v : corner) {
        share_of_volume[static_cast<std::size_t>(v)] += volume.back() / 4;
        on_end += is_on_end(v);
        for (int c = 0; c < 3; ++c) unknowns.push_back(coordinate(v, c) == 0 ? -1 : 3 * v + c);
      }
      if (on_end == 3)
        for (const int v : corner) share_of_end[static_cast<std::size_t>(v)] += is_on_end(v) * edge * edge / 6;
    } while (std::next_permutation(axes, axes + 3));
  }
  double coordinate(int v, int c) const { return start[static_cast<std::size_t>(3 * v + c)]; }
  bool is_on_end(int v) const { return v >= vertex(0, height, 0); }

  /// How much longer it becomes under forces by y on each vertex.
  double elongation(const std::vector<double>& force, double mu, double lambda) const {
    whilst::partially_separable<double> energy(whilst::place::host(), 3 * vertices());
    energy.add("tetrahedra",
               neo_hookean{static_cast<index_type>(volume.size()), inverse_shape.data(), volume.data(), mu, lambda},
               unknowns);
    std::vector<std::int32_t> y;
    for (int v = 0; v < vertices(); ++v) y.push_back(coordinate(v, 1) == 0 ? -1 : 3 * v + 1);
    energy.add("forces", pull{force.data()}, y);
    whilst::minimizer_options options;
    options.method = "newton-cg";
    options.executor = "host";
    options.tolerances.gradient = 1e-12;
    options.max_iterations = 100;
    whilst::minimizer<double> minimize(energy, options);
    std::vector<double> x = start;
    CHECK(minimize.solve(x).converged());
    double sum = 0, ends = 0;
    for (int v = vertex(0, height, 0); v < vertices(); ++v, ++ends)
      sum += x[static_cast<std::size_t>(3 * v + 1)] - coordinate(v, 1);
    return sum / ends;
  }
};

}  // namespace

TEST_CASE("elastic energies: bars become as long as the textbook says") {
  const bar one(2, 8, 0.1);
  const double young = 3, poisson = 0.3, mu = young / (2 * (1 + poisson));
  const double lambda = young * poisson / ((1 + poisson) * (1 - 2 * poisson)) + mu;
  const double length = 0.8, area = 0.04;
  std::vector<double> force(one.share_of_volume.size());

  SECTION("pulled or pressed at the end: P L / (A E)") {
    const double load = GENERATE(1e-5, -1e-5);
    for (std::size_t v = 0; v < force.size(); ++v) force[v] = load * one.share_of_end[v] / area;
    const double strain = load / (area * young);
    // The strain is the same everywhere, which tetrahedra do exactly; the law is of first order in it, 1e-4.
    CHECK(one.elongation(force, mu, lambda) == Approx(strain * length).epsilon(10 * std::abs(strain)));
  }
  SECTION("by its own weight: rho g L^2 / (2 E)") {
    const double weight_by_volume = 1e-3;
    for (std::size_t v = 0; v < force.size(); ++v) force[v] = weight_by_volume * one.share_of_volume[v];
    // Tetrahedra have one strain each, where the bar's changes along it, and a vertex's share of weight depends on how
    // many of them meet there: some percent with 8 cubes along the bar.
    CHECK(one.elongation(force, mu, lambda) == Approx(weight_by_volume * length * length / (2 * young)).epsilon(0.03));
  }
}

}  // namespace whilst_test
