// compiled for each number type, by nvcc where CUDA is on
#include "whilst/linear/products.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// IDR(s), for any square matrix, with bi-orthogonal vectors: M. B. van Gijzen and P. Sonneveld, "Algorithm 913: An
/// elegant IDR(s) variant that efficiently exploits biorthogonality properties", ACM Trans. Math. Softw. 38 (2011);
/// right-preconditioned, so that r follows the true residual, and with its choice of omega: never below 0.7 ||r|| /
/// ||A M r||, which keeps the recurrence going where (r, A M r) vanishes.
///
/// With s shadow vectors P, and s pairs g_k = A u_k, a cycle has a product for each pair and one more. In it k = 1...s,
///
///   c = (P'G)^{-1} P'r of the columns from k on,  v = r - G c,  u_k = U c + omega M v,  g_k = A u_k
///   g_k, u_k less what makes g_k orthogonal to p_1 ... p_{k-1};  r -= beta g_k, x += beta u_k: r orthogonal to p_k
///
/// and then r -= omega A M r, x += omega M r. All products with P are sums of one step after A u_k: those of the g_k
/// that remains follow from P'G, which is lower triangular (as in T. P. Collignon, M. B. van Gijzen, "Minimizing
/// synchronization in IDR(s)", Numer. Linear Algebra Appl. 18 (2011)).
///
/// An iteration of the loop, as counted and judged, is one product; a trip of the body is a cycle of s + 1. Besides A
/// and M there are 2 steps a product; with a preconditioner 3, but 2 in the last of a cycle. Ends with breakdown if
/// p_k is orthogonal to g_k, or if A M r vanishes, or if a coefficient overflows. The caller restarts as long as that
/// helps, with the same shadow vectors: a restart that failed would fail again, as a new solve.
template <class T, class Operator, class Preconditioner>
struct idr {
  static constexpr const char* name = "idr";
  static constexpr bool runs_in_kernel = false;
  static constexpr bool lowers_error = false;
  static constexpr method_needs needs{};
  static constexpr int most = 16;  ///< shadow vectors

  struct scalars {
    double PG[most][most];                 ///< P'G, lower triangular
    double f[most], c[most], alpha[most];  ///< f = P'r; alpha makes g_k orthogonal to shadow vectors before k
    double beta, omega, rr;
  };
  /// s vectors, each aligned as the workspace aligns.
  struct block {
    T* first;
    index_type pitch;
    WHILST_HD T* operator[](int k) const { return first + k * pitch; }
  };

  Operator A;
  Preconditioner M;
  int dimension;
  bool plain;  ///< M changes nothing: u_k is made together with v, which need not be stored
  T *x, *r, *r_hat, *v, *v_hat;
  block G, U;
  scalars* s;

  idr(const Operator& A, const Preconditioner& M, T* x, T* r, const method_settings& settings, workspace& memory)
      : A(A), M(M), dimension(settings.shadow_dimension), plain(changes_nothing(M)), x(x), r(r) {
    const index_type n = A.rows();
    r_hat = result_of(M, n, r, memory);
    v = memory.take<T>(n);
    v_hat = plain ? v : r_hat;  // never needed at the same time
    G = take_block(n, memory);
    U = take_block(n, memory);
    s = memory.take<scalars>(1);
  }
  static bool changes_nothing([[maybe_unused]] const Preconditioner& M) {
    if constexpr (Preconditioner::pointwise) {
      return Preconditioner::is_identity;
    } else {
      return M.changes_nothing();
    }
  }
  block take_block(index_type n, workspace& memory) const {
    block made{memory.take<T>(n), 0};
    for (int k = 1; k < dimension; ++k) {
      T* const next = memory.take<T>(n);
      if (k == 1) made.pitch = next - made.first;
    }
    return made;
  }

  /// Entries of P: independent, uniform between -1 and 1, from a hash of their indices (the finalizer of G. L. Steele,
  /// D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Made where they are used, so
  /// P takes no memory. Not orthonormal: for 8 to 200 rows that changed the mean number of products by 2 % at most,
  /// either way, and for many rows the vectors nearly are. Independent signs would not do: of few rows some are equal.
  WHILST_HD static std::uint64_t four_shadows(index_type i, int group) {
    const std::uint64_t index = static_cast<std::uint64_t>(i) * (most / 4) + static_cast<std::uint64_t>(group) + 1;
    std::uint64_t z = index * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  WHILST_HD static double one_of(std::uint64_t four, int k) {
    return (static_cast<int>(four >> 16 * k & 0xffff) - 32767.5) * 0x1p-15;
  }
  /// Adds row i of P, times y, to the first sums.
  template <int width, int count>
  WHILST_HD static void add_shadows(sums<double, count>& to, index_type i, double y) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int group = 0; group < width / 4; ++group) {
      const std::uint64_t four = four_shadows(i, group);
      for (int k = 0; k < 4; ++k) to.value[4 * group + k] += one_of(four, k) * y;
    }
  }

  /// r - G c of the columns from `first` on; or, in place, u of column `first`.
  struct direction {
    const scalars* s;
    block G, U;
    int first, dimension;
    T* v;
    bool plain;
    WHILST_HD void make(index_type i, T ri) const {
      T vi = ri;
      for (int j = first; j < dimension; ++j) vi -= static_cast<T>(s->c[j]) * G[j][i];
      if (plain) {
        U[first][i] = combined(i, vi);
      } else {
        v[i] = vi;
      }
    }
    /// Entry i of U c + omega v.
    WHILST_HD T combined(index_type i, T vi) const {
      T u = static_cast<T>(s->omega) * vi;
      for (int j = first; j < dimension; ++j) u += static_cast<T>(s->c[j]) * U[j][i];
      return u;
    }
    index_type vectors() const { return (plain ? 2 : 1) * (dimension - first) + 1; }
  };

  struct begin {
    direction next;
    const T* r;
    WHILST_HD void operator()(index_type i) const {
      for (int j = 0; j < next.dimension; ++j) next.G[j][i] = next.U[j][i] = 0;
      (next.plain ? next.U[0] : next.v)[i] = r[i];
    }
    index_type bytes(index_type n) const { return (2 * next.dimension + 2) * n * static_cast<index_type>(sizeof(T)); }
  };
  struct reset {
    scalars* s;
    WHILST_HD void operator()() const {
      *s = {};
      for (int k = 0; k < most; ++k) s->PG[k][k] = 1;
      s->omega = 1;
    }
  };

  struct combine {
    direction next;
    const T* v_hat;
    WHILST_HD void operator()(index_type i) const { next.U[next.first][i] = next.combined(i, v_hat[i]); }
    index_type bytes(index_type n) const {
      return (next.dimension - next.first + 2) * n * static_cast<index_type>(sizeof(T));
    }
  };

  /// P'y of a product y, and (y, r) and (y, y) unless r is null.
  template <int width>
  struct project {
    const T* r;
    struct entries {
      index_type i;
      T r;
    };
    WHILST_HD entries read(index_type i) const { return {i, r ? r[i] : T(0)}; }
    WHILST_HD auto operator()(const entries& e, T y) const {
      const double yi = y;
      sums<double, width + 2> made{};
      add_shadows<width>(made, e.i, yi);
      made.value[width] = yi * static_cast<double>(e.r);
      made.value[width + 1] = yi * yi;
      return made;
    }
    index_type bytes(index_type n) const { return r ? n * static_cast<index_type>(sizeof(T)) : 0; }
  };
  /// Chooses alpha, beta and the next c from P'g for column k; omega and c after the last column.
  template <int width>
  struct choose {
    scalars* s;
    int k, dimension;
    WHILST_HD void operator()(const sums<double, width + 2>& total, loop_state& loop) const {
      for (int j = 0; j < dimension; ++j)
        if (!is_finite(total[j])) return static_cast<void>(loop.stop(reason::nan_or_infinity));
      if (k == dimension && !is_finite(total[width + 1])) return static_cast<void>(loop.stop(reason::nan_or_infinity));
      const bool fit = k < dimension ? next_column(total) : next_space(total);
      if (!fit) loop.stop(reason::breakdown);
    }

   private:
    WHILST_HD bool next_column(const sums<double, width + 2>& total) const {
      bool fit = true;
      double Pg[width];
      for (int j = 0; j < width; ++j) Pg[j] = total[j];
      for (int i = 0; i < k; ++i) {
        const double alpha = Pg[i] / s->PG[i][i];
        for (int j = i + 1; j < dimension; ++j) Pg[j] -= alpha * s->PG[j][i];
        s->alpha[i] = alpha;
        fit = fit && is_finite(static_cast<T>(alpha));
      }
      const double beta = s->f[k] / Pg[k];
      s->beta = beta;
      for (int j = k; j < dimension; ++j) {
        s->PG[j][k] = Pg[j];
        s->f[j] -= beta * Pg[j];
      }
      return fit && is_finite(static_cast<T>(beta)) && solve(k + 1);
    }
    WHILST_HD bool next_space(const sums<double, width + 2>& total) const {
      constexpr double kappa = 0.7;
      const double tr = total[width], tt = total[width + 1], least = kappa * sqrt(s->rr / tt);
      double omega = tr / tt;
      if (!(fabs(omega) >= least)) omega = tr < 0 ? -least : least;
      s->omega = omega;
      for (int j = 0; j < dimension; ++j) s->f[j] -= omega * total[j];
      return is_finite(static_cast<T>(omega)) && solve(0);
    }
    /// c = (P'G)^{-1} f of the columns from `first` on.
    WHILST_HD bool solve(int first) const {
      bool fit = true;
      for (int i = first; i < dimension; ++i) {
        double sum = s->f[i];
        for (int j = first; j < i; ++j) sum -= s->PG[i][j] * s->c[j];
        s->c[i] = sum / s->PG[i][i];
        fit = fit && is_finite(static_cast<T>(s->c[i]));
      }
      return fit;
    }
  };

  /// The step along column k. Returns r_i.
  struct column_step {
    const scalars* s;
    block G, U;
    int k;
    T *x, *r;
    WHILST_HD T make(index_type i) const {
      T g = G[k][i], u = U[k][i];
      for (int j = 0; j < k; ++j) {
        const T alpha = static_cast<T>(s->alpha[j]);
        g -= alpha * G[j][i];
        u -= alpha * U[j][i];
      }
      G[k][i] = g;
      U[k][i] = u;
      const T beta = static_cast<T>(s->beta);
      x[i] += beta * u;
      return r[i] -= beta * g;
    }
    index_type vectors() const { return 2 * k + 8; }
  };
  struct advance {
    column_step step;
    direction next;
    WHILST_HD auto operator()(index_type i) const {
      const T ri = step.make(i);
      next.make(i, ri);
      return sums{static_cast<double>(ri) * ri};
    }
    index_type bytes(index_type n) const {
      return (step.vectors() + next.vectors()) * n * static_cast<index_type>(sizeof(T));
    }
  };
  struct judge {
    scalars* s;
    WHILST_HD void operator()(const sums<double, 1>& total, loop_state& loop) const {
      s->rr = total[0];
      loop.check(sqrt(total[0]));
    }
  };
  /// The last column's, and f = P'r anew, so that rounding does not add up.
  template <int width>
  struct advance_last {
    column_step step;
    WHILST_HD auto operator()(index_type i) const {
      const double ri = step.make(i);
      sums<double, width + 1> made{};
      add_shadows<width>(made, i, ri);
      made.value[width] = ri * ri;
      return made;
    }
    index_type bytes(index_type n) const { return step.vectors() * n * static_cast<index_type>(sizeof(T)); }
  };
  template <int width>
  struct judge_last {
    scalars* s;
    int dimension;
    WHILST_HD void operator()(const sums<double, width + 1>& total, loop_state& loop) const {
      s->rr = total[width];
      for (int j = 0; j < dimension; ++j) s->f[j] = total[j];
      loop.check(sqrt(total[width]));
    }
  };
  struct reduce {
    direction next;
    const T *r_hat, *t;
    T *x, *r;
    WHILST_HD auto operator()(index_type i) const {
      const T omega = static_cast<T>(next.s->omega);
      x[i] += omega * r_hat[i];
      const T ri = r[i] - omega * t[i];
      r[i] = ri;
      next.make(i, ri);
      return sums{static_cast<double>(ri) * ri};
    }
    index_type bytes(index_type n) const {
      return ((next.plain ? 5 : 6) + next.vectors()) * n * static_cast<index_type>(sizeof(T));
    }
  };

  direction direction_of(int k) const { return {s, G, U, k, dimension, v, plain}; }

  template <int width, class Run>
  void start_with(Run& run) const {
    const index_type n = A.rows();
    run.step("U = G = 0, v = r", n, begin{direction_of(0), r}, reset{s});
    if (!plain) precondition(run, M, n, v, v_hat);
    run.step("(r,r), P'r", n, advance_last<width>{{s, G, U, dimension - 1, x, r}}, judge_last<width>{s, dimension});
  }
  template <int width, class Run>
  void iterate_with(Run& run) const {
    const index_type n = A.rows();
    const auto make_u = [&](int k) {
      if (plain) return;
      run.step("u = U c + omega M v", n, combine{direction_of(k), v_hat});
    };
    for (int k = 0; k < dimension; ++k) {
      make_u(k);
      product(run, "g = A u, P'g", A, U[k], G[k], project<width>{nullptr}, choose<width>{s, k, dimension});
      const column_step step{s, G, U, k, x, r};
      if (k < dimension - 1) {
        run.step("x += beta u, r -= beta g, v = r - G c", n, advance{step, direction_of(k + 1)}, judge{s});
        if (!plain) precondition(run, M, n, v, v_hat);
      } else {
        run.step("x += beta u, r -= beta g, P'r", n, advance_last<width>{step}, judge_last<width>{s, dimension});
        if (!plain) precondition(run, M, n, r, r_hat);
      }
    }
    product(run, "t = A M r, P't, (t,r), (t,t)", A, r_hat, v, project<width>{r},
            choose<width>{s, dimension, dimension});
    run.step("x += omega M r, r -= omega t, v = r - G c", n, reduce{direction_of(0), r_hat, v, x, r}, judge{s});
    if (!plain) precondition(run, M, n, v, v_hat);
  }

  // As many sums as there are shadow vectors, rounded up to 4, 8 or 16: the kernels are compiled for these.
  template <class Run>
  void start(Run& run) const {
    if (dimension <= 4) return start_with<4>(run);
    if (dimension <= 8) return start_with<8>(run);
    start_with<16>(run);
  }
  template <class Run>
  void iterate(Run& run) const {
    if (dimension <= 4) return iterate_with<4>(run);
    if (dimension <= 8) return iterate_with<8>(run);
    iterate_with<16>(run);
  }
};

template <class T>
linear_method<T> idr_method() {
  return listed<idr, T>(record_from_parts<idr, T>);
}
template linear_method<WHILST_NUMBER> idr_method();

}  // namespace whilst
