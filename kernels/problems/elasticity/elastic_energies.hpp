#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/dense/symmetric_eigen.hpp"
#include "whilst/derivatives/dual.hpp"

/// @file
/// Energies of elastic bodies as terms of whilst::partially_separable: inertia, elasticity, contact and friction of an
/// implicit time step. The unknowns are positions, vertex after vertex, three coordinates each. Arrays are borrowed
/// memory of the place. All values are in double precision, in the unit of energy that the parameters imply.

namespace whilst::elastic {

/// F = U diag(stretch) V', with U and V rotations, so stretches are negative where F turns space inside out.
struct principal_stretches {
  double U[3][3], stretch[3], V[3][3];

  WHILST_HD explicit principal_stretches(const double (&F)[3][3]) {
    double C[3][3];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) C[i][j] = F[0][i] * F[0][j] + F[1][i] * F[1][j] + F[2][i] * F[2][j];
    diagonalize<3>(C, V);
    sort_columns(C);
    const double det = V[0][0] * (V[1][1] * V[2][2] - V[1][2] * V[2][1]) -
                       V[0][1] * (V[1][0] * V[2][2] - V[1][2] * V[2][0]) +
                       V[0][2] * (V[1][0] * V[2][1] - V[1][1] * V[2][0]);
    for (int i = 0; i < 3; ++i) V[i][2] = det < 0 ? -V[i][2] : V[i][2];
    double W[3][3];
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) W[i][k] = F[i][0] * V[0][k] + F[i][1] * V[1][k] + F[i][2] * V[2][k];
    // The columns of W are orthogonal up to rounding; where they vanish, any orthogonal ones will do.
    normalize_column(W, 0, 1, 0, 0);
    const double along = W[0][1] * U[0][0] + W[1][1] * U[1][0] + W[2][1] * U[2][0];
    for (int i = 0; i < 3; ++i) W[i][1] -= along * U[i][0];
    const int least = std::fabs(U[0][0]) < 0.6 ? 0 : std::fabs(U[1][0]) < 0.6 ? 1 : 2;
    double e[3];
    for (int i = 0; i < 3; ++i) e[i] = (i == least) - U[least][0] * U[i][0];
    const double length = std::sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
    normalize_column(W, 1, e[0] / length, e[1] / length, e[2] / length);
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      U[i][2] = U[j][0] * U[k][1] - U[k][0] * U[j][1];
    }
    for (int k = 0; k < 3; ++k) stretch[k] = U[0][k] * W[0][k] + U[1][k] * W[1][k] + U[2][k] * W[2][k];
  }

 private:
  /// Sorts the largest first.
  WHILST_HD void sort_columns(double (&C)[3][3]) {
    for (int pass = 0; pass < 3; ++pass) {
      const int k = pass % 2;
      if (C[k][k] >= C[k + 1][k + 1]) continue;
      const double larger = C[k + 1][k + 1];
      C[k + 1][k + 1] = C[k][k];
      C[k][k] = larger;
      for (int i = 0; i < 3; ++i) {
        const double other = V[i][k];
        V[i][k] = V[i][k + 1];
        V[i][k + 1] = other;
      }
    }
  }
  WHILST_HD void normalize_column(const double (&W)[3][3], int k, double x, double y, double z) {
    const double length = std::sqrt(W[0][k] * W[0][k] + W[1][k] * W[1][k] + W[2][k] * W[2][k]);
    const bool vanishes = !(length > 1e-150);
    U[0][k] = vanishes ? x : W[0][k] / length;
    U[1][k] = vanishes ? y : W[1][k] / length;
    U[2][k] = vanishes ? z : W[2][k] / length;
  }
};

/// A tetrahedron of stable neo-Hookean material: B. Smith, F. de Goes, T. Kim, "Stable Neo-Hookean Flesh Simulation",
/// ACM Transactions on Graphics 37 (2018), article 12, equation 13 without its logarithm:
///
///   W = volume (mu / 2 |F|^2 - mu det F + lambda / 2 (det F - 1)^2),  F = (x1 - x0, x2 - x0, x3 - x0) shape^-1
///
/// A polynomial in x, finite wherever the vertices are, inverted elements included. For small strains it is Hooke's law
/// with Lame's parameters mu and lambda - mu. At rest it equals volume mu / 2: the constant is kept so that the size of
/// the value tells its rounding.
struct neo_hookean {
  static constexpr int unknowns = 12;
  index_type count;
  const double* inverse_shape;  ///< entry (k, d) of element e at (3 k + d) * count + e
  const double* volume;
  double mu, lambda;

  /// Energy at rest of the whole volume.
  WHILST_HD static double rest_energy(double mu, double all_volume) { return all_volume * mu / 2; }

  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    S F[3][3];
    deformation(e, x, F);
    S square = F[0][0] * F[0][0];
    for (int k = 1; k < 9; ++k) square += F[k / 3][k % 3] * F[k / 3][k % 3];
    const S J = determinant(F);
    return volume[e] * (mu / 2 * square - mu * J + lambda / 2 * (J - 1) * (J - 1));
  }

  /// From the eigenvectors of d^2 W / dF^2, which are known: section 4 of the paper.
  WHILST_HD void second_derivatives(index_type e, const double* x, bool positive, double* upper) const {
    double F[3][3];
    deformation(e, x, F);
    const principal_stretches p(F);
    const double* const s = p.stretch;
    const double c = lambda * (s[0] * s[1] * s[2] - 1) - mu;

    double b[4][3];  // row a: V' d F / d x_a
    for (int d = 0; d < 3; ++d) {
      b[0][d] = 0;
      for (int a = 1; a < 4; ++a) {
        b[a][d] = 0;
        for (int k = 0; k < 3; ++k) b[a][d] += inverse_shape[(3 * (a - 1) + k) * count + e] * p.V[k][d];
        b[0][d] -= b[a][d];
      }
    }
    for (int k = 0; k < unknowns * (unknowns + 1) / 2; ++k) upper[k] = 0;
    const auto add_mode = [&](double eigenvalue, const double(&mode)[12]) {
      if (positive && !(eigenvalue > 0)) return;
      int at = 0;
      for (int i = 0; i < unknowns; ++i) {
        const double row = volume[e] * eigenvalue * mode[i];
        for (int j = i; j < unknowns; ++j, ++at) upper[at] += row * mode[j];
      }
    };

    double mode[12];
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      for (int sign = -1; sign <= 1; sign += 2) {  // a twist, a flip
        for (int m = 0; m < 12; ++m)
          mode[m] = (p.U[m % 3][i] * b[m / 3][j] + sign * p.U[m % 3][j] * b[m / 3][i]) * std::sqrt(0.5);
        add_mode(mu - sign * c * s[k], mode);
      }
    }
    double A[3][3], Q[3][3];
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        const double slopes = s[(i + 1) % 3] * s[(i + 2) % 3] * s[(j + 1) % 3] * s[(j + 2) % 3];
        A[i][j] = lambda * slopes + (i == j ? mu : c * s[3 - i - j]);
      }
    }
    diagonalize<3>(A, Q);
    for (int k = 0; k < 3; ++k) {
      for (int m = 0; m < 12; ++m) {
        mode[m] = 0;
        for (int i = 0; i < 3; ++i) mode[m] += Q[i][k] * p.U[m % 3][i] * b[m / 3][i];
      }
      add_mode(A[k][k], mode);
    }
  }

 private:
  template <class S>
  WHILST_HD void deformation(index_type e, const S* x, S (&F)[3][3]) const {
    for (int c = 0; c < 3; ++c) {
      const S edge[3] = {x[3 + c] - x[c], x[6 + c] - x[c], x[9 + c] - x[c]};
      for (int d = 0; d < 3; ++d)
        F[c][d] = edge[0] * inverse_shape[d * count + e] + edge[1] * inverse_shape[(3 + d) * count + e] +
                  edge[2] * inverse_shape[(6 + d) * count + e];
    }
  }
  template <class S>
  WHILST_HD static S determinant(const S (&F)[3][3]) {
    return F[0][0] * (F[1][1] * F[2][2] - F[1][2] * F[2][1]) - F[0][1] * (F[1][0] * F[2][2] - F[1][2] * F[2][0]) +
           F[0][2] * (F[1][0] * F[2][1] - F[1][1] * F[2][0]);
  }
};

/// A spring between two vertices, with Green's strain E = (|d|^2 / L^2 - 1) / 2, d the vector between them, L its rest
/// length: W = stiffness L (E^2 / 2 + 1 / 8). A polynomial; the constant is kept for the same reason as above.
struct green_spring {
  static constexpr int unknowns = 6;
  const double* stiffness;    ///< force per strain
  const double* rest_length;  ///< L

  WHILST_HD static double rest_energy(double stiffness, double length) { return stiffness * length / 8; }

  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    const double L = rest_length[e];
    const S d[3] = {x[3] - x[0], x[4] - x[1], x[5] - x[2]};
    const S q = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / (L * L);
    return stiffness[e] * L / 8 * ((q - 1) * (q - 1) + 1);
  }

  /// With respect to d: stiffness / L (E I + d d' / L^2), whose eigenvectors are d and the vectors orthogonal to it.
  WHILST_HD void second_derivatives(index_type e, const double* x, bool positive, double* upper) const {
    const double L = rest_length[e], d[3] = {x[3] - x[0], x[4] - x[1], x[5] - x[2]};
    const double dd = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], q = dd / (L * L);
    double across = (q - 1) / 2, along = q + across;
    if (positive) {
      across = std::fmax(across, 0.0);
      along = std::fmax(along, 0.0);
    }
    const double more = dd > 0 ? (along - across) / dd : 0, factor = stiffness[e] / L;
    for (int i = 0; i < 6; ++i) {
      for (int j = i; j < 6; ++j) {
        const double entry = factor * (more * d[i % 3] * d[j % 3] + (i % 3 == j % 3 ? across : 0));
        upper[upper_packed(6, i, j)] = i / 3 == j / 3 ? entry : -entry;
      }
    }
  }
};

/// What bodies may not enter: a floor, with everything below it, and spheres. They push from a distance.
struct obstacles {
  static constexpr int most_spheres = 2;
  struct sphere {
    double centre[3], radius;
  };
  double floor = -HUGE_VAL;  ///< y of its surface
  sphere spheres[most_spheres] = {};
  int number_of_spheres = 0;
  double distance = 0;  ///< from a surface, where contact begins

  /// Calls use(depth, centre) for each obstacle that the point is in contact with; centre is null for the floor.
  template <class S, class Use>
  WHILST_HD void for_each_contact(const S* x, const Use& use) const {
    const S below = floor + distance - x[1];
    if (below > 0) use(below, static_cast<const double*>(nullptr));
    for (int k = 0; k < number_of_spheres; ++k) {
      const sphere& s = spheres[k];
      const S r[3] = {x[0] - s.centre[0], x[1] - s.centre[1], x[2] - s.centre[2]};
      const S square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
      const double reach = s.radius + distance;
      using std::sqrt;
      if (square < reach * reach) use(reach - sqrt(square), s.centre);
    }
  }
};

/// Pushes a vertex out of obstacles: stiffness / 3 depth^3, twice continuously differentiable.
struct contact {
  static constexpr int unknowns = 3;
  const double* stiffness;  ///< per vertex; 0: it touches nothing
  obstacles where;

  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    S energy = 0;
    if (stiffness[e] > 0)
      where.for_each_contact(
          x, [&](const S& depth, const double*) { energy = energy + stiffness[e] / 3 * depth * depth * depth; });
    return energy;
  }
};

/// Inertia of a vertex in an implicit time step: mass / (2 h^2) |x - target|^2, where the target is the position it
/// would reach under gravity alone.
struct inertia {
  static constexpr int unknowns = 3;
  const double* mass_by_square;  ///< mass / h^2 per vertex
  const double* target;

  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    const S d[3] = {x[0] - target[3 * e], x[1] - target[3 * e + 1], x[2] - target[3 * e + 2]};
    return mass_by_square[e] / 2 * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  }
};

/// Friction of a vertex as a drag along the surface that it touched when the time step began: drag / 2 |x - start|^2
/// without the normal component.
struct friction {
  static constexpr int unknowns = 3;
  const double* drag;    ///< per vertex
  const double* normal;  ///< of unit length
  const double* start;   ///< positions when the step began

  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    if (!(drag[e] > 0)) return S(0);
    const S d[3] = {x[0] - start[3 * e], x[1] - start[3 * e + 1], x[2] - start[3 * e + 2]};
    const S away = d[0] * normal[3 * e] + d[1] * normal[3 * e + 1] + d[2] * normal[3 * e + 2];
    return drag[e] / 2 * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] - away * away);
  }
};

/// All of a vertex's own energies in one term.
struct vertex_energy {
  static constexpr int unknowns = 3;
  whilst::elastic::inertia inertia;
  whilst::elastic::contact contact;
  whilst::elastic::friction friction;

  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    return inertia(e, x) + contact(e, x) + friction(e, x);
  }
};

}  // namespace whilst::elastic
