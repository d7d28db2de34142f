#pragma once

#include <cmath>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/views.hpp"

namespace whilst {

/// @file
/// Dense algebra for some tens of unknowns, by all threads of a block or by one thread of the host. Matrices lie in
/// memory that the whole team sees, row by row with `stride` entries a row.

/// Shares out the entries (i, k) of a matrix: neighbouring threads take neighbouring k.
struct entries_of_thread {
  int first_i, i_step, first_k, k_step;

  template <class Team>
  WHILST_HD entries_of_thread(const Team& team, int number_of_k) {
    const int size = static_cast<int>(team.size()), rank = static_cast<int>(team.rank());
    k_step = size < number_of_k ? size : number_of_k > 0 ? number_of_k : 1;
    i_step = size / k_step;
    first_k = rank % k_step;
    first_i = rank / k_step;
    if (first_i >= i_step) first_k = number_of_k;  // a thread too many
  }
  /// Calls use(i, k) for those of the thread, i < number_of_i and k < number_of_k.
  template <class Use>
  WHILST_HD void each(int number_of_i, int number_of_k, const Use& use) const {
    for (int i = first_i; i < number_of_i; i += i_step)
      for (int k = first_k; k < number_of_k; k += k_step) use(i, k);
  }
};

/// The rotation that makes entry (p, q) of a symmetric matrix 0.
struct plane_rotation {
  double cosine, sine;
  int p, q;

  WHILST_HD void apply(double& of_p, double& of_q) const {
    const double x = of_p, y = of_q;
    of_p = cosine * x - sine * y;
    of_q = sine * x + cosine * y;
  }
};

/// Eigenvalues and eigenvectors of a symmetric matrix by Jacobi's method: on return the diagonal of A holds the values,
/// in no order, and column k of V the k-th vector. A round applies n / 2 rotations that share no row: R. P. Brent, F.
/// T. Luk, SIAM J. Sci. Stat. Comput. 6 (1985). Rotations: room for (n + 1) / 2. Where A has a NaN, what comes out has.
template <class Team>
WHILST_HD void diagonalize(const Team& team, int n, int stride, double* A, double* V, plane_rotation* rotations) {
  constexpr int most_sweeps = 30;
  const int players = n + n % 2, pairs = players / 2;
  const entries_of_thread square(team, n), of_rows(team, pairs), of_columns(team, n);
  square.each(n, n, [&](int i, int k) { V[i * stride + k] = i == k; });
  team.sync();
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    sums<double, 2> squares_beside_and_on{};
    square.each(n, n, [&](int i, int k) {
      const double a = A[i * stride + k];
      squares_beside_and_on.value[i == k ? 1 : 0] += a * a;
    });
    const sums<double, 2> total = team.sum(squares_beside_and_on);
    constexpr double epsilon = 0x1p-52;
    if (!(total[0] > epsilon * epsilon * total[1])) break;  // for NaN, too
    for (int round = 0; round < players - 1; ++round) {
      for (int k = static_cast<int>(team.rank()); k < pairs; k += static_cast<int>(team.size())) {
        // The last one stays where it is, the others move on by one place a round.
        const int one = k == 0 ? players - 1 : (round + k) % (players - 1);
        const int other = (round + players - 1 - k) % (players - 1);
        const int p = one < other ? one : other, q = one < other ? other : one;
        const double beside = q < n ? A[p * stride + q] : 0;
        plane_rotation made{1, 0, p, q};
        if (beside != 0) {
          const double tau = (A[q * stride + q] - A[p * stride + p]) / (2 * beside);
          const double tangent = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
          made.cosine = 1 / sqrt(1 + tangent * tangent);
          made.sine = tangent * made.cosine;
        }
        rotations[k] = made;
      }
      team.sync();
      of_rows.each(n, pairs, [&](int i, int k) {
        const plane_rotation turn = rotations[k];
        if (turn.sine == 0) return;
        turn.apply(A[i * stride + turn.p], A[i * stride + turn.q]);
        turn.apply(V[i * stride + turn.p], V[i * stride + turn.q]);
      });
      team.sync();
      of_columns.each(pairs, n, [&](int k, int j) {
        const plane_rotation turn = rotations[k];
        if (turn.sine == 0) return;
        turn.apply(A[turn.p * stride + j], A[turn.q * stride + j]);
      });
      team.sync();
    }
  }
}

}  // namespace whilst
