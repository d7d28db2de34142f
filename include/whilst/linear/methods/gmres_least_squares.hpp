#pragma once

#include "whilst/basics/teams.hpp"
#include "whilst/engine/control/control.hpp"
#include "whilst/linear/methods/gmres_memory.hpp"

namespace whilst {

/// The y with the least ||beta e_0 - B y||, by back substitution; then, unless Q is in memory itself, what V is to be
/// multiplied by instead, but for the last q if its v is not in the basis because the loop has just stopped.
template <class T>
struct gmres_least_squares {
  static constexpr bool whole_block = true;
  using memory = gmres_memory<T>;
  memory all;
  bool of_q;
  WHILST_HD static int threads_wanted() { return 128; }
  index_type fast_memory_bytes() const { return 2 * all.most * index_type{sizeof(double)}; }
  template <class Team>
  WHILST_HD void operator()(index_type, const Team& team) const {
    const int columns = all.s->columns, complete = all.s->complete, rank = team.rank(), threads = team.size();
    void* const fast = team.fast_memory();
    double *const rest = fast ? static_cast<double*>(fast) : all.work, *const y = rest + all.most;
    for (int j = rank; j < columns; j += threads) {
      rotate(j, j < complete);
      rest[j] = all.g[j];
    }
    for (int k = columns - 1; k >= 0; --k) {
      const double* const column = all.b + memory::b_of(k);
      team.sync();
      const double value = rest[k] * column[k];
      if (rank == 0) y[k] = value;
      for (int j = rank; j < k; j += threads) rest[j] -= value * column[j];
    }
    team.sync();
    const int there = of_q ? 0 : all.s->written;
    for (int i = rank; i < columns; i += threads) {
      double sum = y[i] * (i < there ? all.rho[i] : 1);
      for (int k = i + 1; k < there; ++k) sum += all.a[memory::a_of(k) + i] * y[k];
      all.y[i] = sum;
    }
  }

 private:
  /// Applies the rotations to column j of B, and leaves it in place of b, with the inverse of its diagonal. In pieces
  /// of 8, since memory answers a piece as fast as a number.
  WHILST_HD void rotate(int j, bool is_complete) const {
    double* const column = all.b + memory::b_of(j);
    const double* const a = all.a + memory::a_of(j + 1);
    const double eta = all.eta[j], below = is_complete ? eta * all.rho[j + 1] : eta;
    double value = column[0] + (is_complete ? eta * a[0] : 0);
    constexpr int held = 8;
    for (int begin = 0; begin < j; begin += held) {
      double cosine[held], sine[held], entry[held];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int h = 0; h < held; ++h) {
        const int i = begin + h;
        const bool is_there = i < j;
        cosine[h] = is_there ? all.cosine[i] : 0;
        sine[h] = is_there ? all.sine[i] : -1;  // which hands the value on
        entry[h] = is_there ? column[i + 1] + (is_complete ? eta * a[i + 1] : 0) : 0;
      }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int h = 0; h < held; ++h) {
        const double next = entry[h];
        if (begin + h < j) column[begin + h] = cosine[h] * value + sine[h] * next;
        value = cosine[h] * next - sine[h] * value;
      }
    }
    column[j] = 1 / (all.cosine[j] * value + all.sine[j] * below);
  }
};

/// x is changed by finite numbers only.
template <class T>
struct gmres_check_solution {
  gmres_memory<T> all;
  WHILST_HD void operator()() const {
    bool is_good = true;
    for (int j = 0; j < all.s->columns; ++j) is_good &= is_finite(static_cast<T>(all.y[j]));
    if (!is_good) all.s->columns = all.s->written = 0;
  }
};

}  // namespace whilst
