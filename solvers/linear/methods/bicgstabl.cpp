// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/products.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// BiCGSTAB(l), for any square matrix: G. L. G. Sleijpen and D. R. Fokkema, "BiCGstab(l) for linear equations involving
/// unsymmetric matrices with complex spectrum", Electron. Trans. Numer. Anal. 1 (1993); right-preconditioned, so that r
/// follows the true residual. With r_0 = r and r~ its first value, a cycle makes for j = 0 ... l - 1
///
///   u_i = r_i - beta u_i for i <= j,  u_{j+1} = A M u_j,  r_i -= alpha u_{i+1} for i <= j,  r_{j+1} = A M r_j
///
/// and then the polynomial of degree l that lowers r most: r_0 -= gamma_1 r_1 + ... + gamma_l r_l. The gammas come from
/// the inner products of all r_i, summed by the steps that make them last: see minimize. M is applied to u_j and r_j
/// only. It is linear, so the steps gather in y, and x = M y follows once the loop has ended.
///
/// An iteration of the loop is a cycle of 2 l products. Besides A and M there are 2 steps a product and one a cycle.
/// The norm is judged once a cycle; a half step that reaches the tolerance ends it. Ends with breakdown when (r~, r_j)
/// or (r~, u_j) vanishes, A M r_{l-1} does, or a coefficient overflows, and with stagnation when no polynomial lowers
/// r. The caller restarts with a new r~ as long as that helps.
template <class T, class Operator, class Preconditioner>
struct bicgstabl {
  static constexpr const char* name = "bicgstabl";
  static constexpr bool runs_in_kernel = false;
  static constexpr bool lowers_error = false;
  static constexpr method_needs needs{};
  static constexpr int most = 8;  ///< the degree

  struct scalars {
    double alpha, beta, rho;
    double gram[most + 1][most + 1];  ///< (r_i, r_j), i <= j
    double gamma[most + 1];           ///< from 1
  };
  /// Vectors, each aligned as the workspace aligns.
  struct block {
    T* first;
    index_type pitch;
    WHILST_HD T* operator[](int k) const { return first + k * pitch; }
  };
  /// r_0 is the caller's.
  struct residuals {
    T* r;
    block rest;
    WHILST_HD T* operator[](int k) const { return k == 0 ? r : rest[k - 1]; }
  };

  Operator A;
  Preconditioner M;
  int degree;
  bool plain;  ///< M changes nothing
  T *x, *y, *hat, *shadow;
  residuals r;
  block u;
  scalars* s;

  bicgstabl(const Operator& A, const Preconditioner& M, T* x, T* r, const method_settings& settings, workspace& memory)
      : A(A), M(M), degree(settings.polynomial_degree), plain(changes_nothing(M)), x(x) {
    const index_type n = A.rows();
    y = plain ? x : memory.take<T>(n);
    hat = plain ? nullptr : memory.take<T>(n);
    shadow = memory.take<T>(n);
    this->r = {r, take_block(n, degree, memory)};
    u = take_block(n, degree + 1, memory);
    s = memory.take<scalars>(1);
  }
  static bool changes_nothing([[maybe_unused]] const Preconditioner& M) {
    if constexpr (Preconditioner::pointwise) {
      return Preconditioner::is_identity;
    } else {
      return M.changes_nothing();
    }
  }
  static block take_block(index_type n, int count, workspace& memory) {
    block made{memory.take<T>(n), 0};
    for (int k = 1; k < count; ++k) {
      T* const next = memory.take<T>(n);
      if (k == 1) made.pitch = next - made.first;
    }
    return made;
  }
  WHILST_HD static index_type bytes_of_vectors(index_type count, index_type n) {
    return count * n * static_cast<index_type>(sizeof(T));
  }

  struct begin {
    const T* r;
    T *shadow, *u, *y;
    WHILST_HD auto operator()(index_type i) const {
      const T ri = r[i];
      shadow[i] = ri;
      u[i] = y[i] = 0;
      return sums{static_cast<double>(ri) * ri};
    }
    index_type bytes(index_type n) const { return bytes_of_vectors(4, n); }
  };
  struct judge_start {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
      if (loop.check(sqrt(total[0]))) return;
      s->rho = total[0];
      s->beta = 0;
    }
  };

  struct directions {
    const scalars* s;
    residuals r;
    block u;
    int j;
    WHILST_HD T operator()(index_type i) const {
      const T beta = static_cast<T>(s->beta);
      T last = 0;
      for (int k = 0; k <= j; ++k) u[k][i] = last = r[k][i] - beta * u[k][i];
      return last;
    }
    index_type bytes(index_type n) const { return bytes_of_vectors(3 * (j + 1), n); }
  };
  struct dot_with_shadow {
    const T* shadow;
    WHILST_HD T read(index_type i) const { return shadow[i]; }
    WHILST_HD auto operator()(T shadow, T product) const { return sums{static_cast<double>(shadow) * product}; }
    index_type bytes(index_type n) const { return bytes_of_vectors(1, n); }
  };
  struct choose_alpha {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
      s->alpha = s->rho / total[0];
      if (!is_finite(static_cast<T>(s->alpha)))
        loop.stop(is_finite(total[0]) ? reason::breakdown : reason::nan_or_infinity);
    }
  };
  /// From (r~, r_{j+1}), between two steps of a cycle.
  struct choose_beta {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
      if (!is_finite(total[0])) {
        loop.stop(reason::nan_or_infinity);
      } else {
        next_beta(*s, s->rho, total[0], loop);
      }
    }
  };
  WHILST_HD static void next_beta(scalars& s, double last_rho, double rho, loop_state& loop) {
    s.beta = s.alpha * (rho / last_rho);
    s.rho = rho;
    if (rho == 0 || !is_finite(static_cast<T>(s.beta))) loop.stop(reason::breakdown);
  }

  /// y and r_0 ... r_j along alpha; returns r_0.
  struct half_step {
    const scalars* s;
    residuals r;
    block u;
    int j;
    T* y;
    WHILST_HD void step(index_type i) const {
      const T alpha = static_cast<T>(s->alpha);
      y[i] += alpha * u[0][i];
      for (int k = 0; k <= j; ++k) r[k][i] -= alpha * u[k + 1][i];
    }
    WHILST_HD auto operator()(index_type i) const {
      step(i);
      const double r0 = r[0][i];
      return sums{r0 * r0};
    }
    index_type bytes(index_type n) const { return bytes_of_vectors(3 * (j + 1) + 3, n); }
  };
  struct end_early {
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const { judge(total[0], loop); }
    /// Only to stop: the cycle is not complete.
    WHILST_HD static void judge(double rr, loop_state& loop) {
      const double norm = sqrt(rr) * power_of_two(loop.norm_exponent);
      if (norm <= loop.rtol_norm || norm <= loop.atol_norm || !is_finite(norm)) loop.check(sqrt(rr));
    }
  };
  /// The last one of a cycle: also the inner products of r_0 ... r_{l-1}. width: l, or more.
  template <int width>
  struct last_half_step {
    static constexpr int count = width * (width + 1) / 2;
    half_step half;
    WHILST_HD auto operator()(index_type i) const {
      half.step(i);
      double row[width];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < width; ++k) row[k] = k <= half.j ? static_cast<double>(half.r[k][i]) : 0;
      sums<double, count> made{};
      int entry = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < width; ++k)
        for (int m = k; m < width; ++m) made.value[entry++] = row[k] * row[m];
      return made;
    }
    index_type bytes(index_type n) const { return half.bytes(n); }
  };
  template <int width>
  struct keep_gram {
    scalars* s;
    WHILST_HD void operator()(const sums<double, last_half_step<width>::count>& total, loop_state& loop) const {
      int entry = 0;
      for (int k = 0; k < width; ++k)
        for (int m = k; m < width; ++m) s->gram[k][m] = total[entry++];
      end_early::judge(total[0], loop);
    }
  };
  /// (r_l, r_k) for all k.
  template <int width>
  struct dots_with_residuals {
    residuals r;
    int degree;
    struct entries {
      double r[width];
    };
    WHILST_HD entries read(index_type i) const {
      entries e;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < width; ++k) e.r[k] = k < degree ? static_cast<double>(r[k][i]) : 0;
      return e;
    }
    WHILST_HD auto operator()(const entries& e, T product) const {
      const double last = product;
      sums<double, width + 1> made;
      for (int k = 0; k < width; ++k) made.value[k] = last * e.r[k];
      made.value[width] = last * last;
      return made;
    }
    index_type bytes(index_type n) const { return bytes_of_vectors(degree, n); }
  };
  /// The gammas that make the smallest r_0 - gamma_1 r_1 - ... - gamma_l r_l: the normal equations by Cholesky, with
  /// r_1 ... r_l scaled to norm 1. It begins with r_l, which the next cycle needs; an r_k that depends on those already
  /// taken, as far as sums in double can tell, is left out, so that rounding leaves digits of every gamma. Whatever the
  /// gammas, r_0 remains the residual of x.
  template <int width>
  struct minimize {
    scalars* s;
    int degree;
    WHILST_HD void operator()(const sums<double, width + 1>& total, loop_state& loop) const {
      for (int k = 0; k < degree; ++k) s->gram[k][degree] = total[k];
      s->gram[degree][degree] = total[width];
      if (!is_finite(total[width])) {
        loop.stop(reason::nan_or_infinity);
        return;
      }
      // Position p stands for r_{degree - p}.
      double L[width][width] = {}, right[width] = {}, scale[width] = {};
      for (int p = 0; p < degree; ++p) {
        const int k = degree - p;
        scale[p] = s->gram[k][k] > 0 ? 1 / sqrt(s->gram[k][k]) : 0;
        right[p] = scale[p] * s->gram[0][k];
        double pivot = scale[p] > 0 ? 1 : 0;
        for (int q = 0; q < p; ++q) {
          double sum = scale[p] * scale[q] * s->gram[k][degree - q];
          for (int t = 0; t < q; ++t) sum -= L[p][t] * L[q][t];
          L[p][q] = L[q][q] > 0 ? sum / L[q][q] : 0;
          pivot -= L[p][q] * L[p][q];
          right[p] -= L[p][q] * right[q];
        }
        L[p][p] = pivot > least_pivot ? sqrt(pivot) : 0;
        right[p] = L[p][p] > 0 ? right[p] / L[p][p] : 0;
      }
      bool fit = L[0][0] > 0, moves = false;
      for (int p = degree - 1; p >= 0; --p) {
        double sum = right[p];
        for (int q = p + 1; q < degree; ++q) sum -= L[q][p] * right[q];
        right[p] = L[p][p] > 0 ? sum / L[p][p] : 0;
        const double gamma = scale[p] * right[p];
        s->gamma[degree - p] = gamma;
        fit = fit && is_finite(static_cast<T>(gamma));
        moves = moves || gamma != 0;
      }
      if (!fit) {
        loop.stop(reason::breakdown);
      } else if (!moves) {
        loop.stop(reason::stagnation);
      }
    }
  };
  static constexpr double least_pivot = 1e-12;

  struct polynomial_step {
    const scalars* s;
    residuals r;
    block u;
    int degree;
    const T* shadow;
    T* y;
    WHILST_HD auto operator()(index_type i) const {
      T r0 = r[0][i], before = r0, u0 = u[0][i], yi = y[i];
      for (int k = 1; k <= degree; ++k) {
        const T gamma = static_cast<T>(s->gamma[k]), rk = r[k][i];
        yi += gamma * before;
        r0 -= gamma * rk;
        u0 -= gamma * u[k][i];
        before = rk;
      }
      y[i] = yi;
      r[0][i] = r0;
      u[0][i] = u0;
      return sums{static_cast<double>(r0) * r0, static_cast<double>(shadow[i]) * r0};
    }
    index_type bytes(index_type n) const { return bytes_of_vectors(2 * degree + 7, n); }
  };
  struct judge_cycle {
    scalars* s;
    int degree;
    WHILST_HD void operator()(const sums<double, 2>& total, loop_state& loop) const {
      if (!loop.check(sqrt(total[0]))) next_beta(*s, -s->gamma[degree] * s->rho, total[1], loop);
    }
  };

  template <class Run>
  void start(Run& run) const {
    run.step("r~ = r, u = 0, (r,r)", A.rows(), begin{r[0], shadow, u[0], y}, judge_start{s});
  }
  template <class Run>
  void conclude(Run& run) const {
    if (!plain) precondition(run, M, A.rows(), y, x);
  }

  template <int width, class Run>
  void iterate_with(Run& run) const {
    const index_type n = A.rows();
    const auto hat_of = [&](T* vector) { return plain ? vector : hat; };
    for (int j = 0; j < degree; ++j) {
      const half_step half{s, r, u, j, y};
      update(run, "u_i = r_i - beta u_i", n, preconditioned(M, directions{s, r, u, j}, u[j], hat_of(u[j])));
      product(run, "u_{j+1} = A M u_j, (r~,u)", A, hat_of(u[j]), u[j + 1], dot_with_shadow{shadow}, choose_alpha{s});
      if (j < degree - 1) {
        run.step("y += alpha u_0, r_i -= alpha u_{i+1}", n, half, end_early{});
        if (!plain) precondition(run, M, n, r[j], hat);
        product(run, "r_{j+1} = A M r_j, (r~,r)", A, hat_of(r[j]), r[j + 1], dot_with_shadow{shadow}, choose_beta{s});
      } else {
        run.step("y += alpha u_0, r_i -= alpha u_{i+1}, (r_i,r_k)", n, last_half_step<width>{half},
                 keep_gram<width>{s});
        if (!plain) precondition(run, M, n, r[j], hat);
        product(run, "r_l = A M r_{l-1}, (r_l,r_k)", A, hat_of(r[j]), r[degree], dots_with_residuals<width>{r, degree},
                minimize<width>{s, degree});
      }
    }
    run.step("y += gamma_j r_{j-1}, r -= gamma_j r_j", n, polynomial_step{s, r, u, degree, shadow, y},
             judge_cycle{s, degree});
  }
  // As many inner products as the degree, rounded up.
  template <class Run>
  void iterate(Run& run) const {
    if (degree <= 2) return iterate_with<2>(run);
    if (degree <= 4) return iterate_with<4>(run);
    iterate_with<8>(run);
  }
};

template <class T>
linear_method<T> bicgstabl_method() {
  return listed<bicgstabl, T>(record_from_parts<bicgstabl, T>);
}
template linear_method<WHILST_NUMBER> bicgstabl_method();

}  // namespace whilst
