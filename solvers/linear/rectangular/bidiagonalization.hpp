#pragma once

#include "whilst/engine/recorder.hpp"
#include "whilst/linear/products.hpp"

namespace whilst {

/// What the methods that bidiagonalize A by products with A and A' share: G. H. Golub, W. Kahan, "Calculating the
/// singular values and pseudo-inverse of a matrix", SIAM J. Numer. Anal. B 2 (1965), section 2, with v = M p. u has a
/// row's entries, p and v a column's; none is normalized.
template <class T, class Operator, class Preconditioner>
struct bidiagonalization {
  index_type rows, columns;
  T *u, *p, *v;
  T *product, *product_transposed;  ///< for operators without rows

  /// u is the residual's memory; v is p where there is no M.
  bidiagonalization(const Operator& A, const Preconditioner& M, T* r, workspace& memory)
      : rows(A.rows()), columns(A.transposed().rows()), u(r) {
    p = memory.take<T>(columns);
    v = result_of(M, columns, p, memory);
    product = memory.take<T>(has_rows<Operator> ? 0 : rows);
    product_transposed = memory.take<T>(has_rows<Operator> ? 0 : columns);
  }

  /// p = v = 0, and so are two more vectors, or one given twice.
  struct clear_entries {
    T *p, *v, *one, *other;
    WHILST_HD void operator()(index_type j) const { p[j] = v[j] = one[j] = other[j] = 0; }
    index_type bytes(index_type n) const {
      return (2 + (p != v) + (one != other)) * n * static_cast<index_type>(sizeof(T));
    }
  };
  template <class Run>
  void clear(Run& run, T* one, T* other) const {
    run.step("p = 0", columns, clear_entries{p, v, one, other});
  }

  struct square {
    const T* u;
    WHILST_HD auto operator()(index_type i) const {
      const double ui = u[i];
      return sums{ui * ui};
    }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  template <class Run, class Finish>
  void measure_u(Run& run, const Finish& finish) const {
    run.step("(u,u)", rows, square{u}, finish);
  }

  /// Records what `use` makes of A v, a new u among it, and the finish that receives its sums.
  template <class Run, class Use, class Finish>
  void multiply(Run& run, const char* name, const Operator& A, const Use& use, const Finish& finish) const {
    make_from_product(run, name, A, v, product, use, finish);
  }

  /// A step of its own where M is.
  struct dots {
    const T *p, *v;
    WHILST_HD auto operator()(index_type j) const {
      const double pj = p[j];
      return sums{pj * static_cast<double>(v[j]), pj * pj};
    }
    index_type bytes(index_type n) const { return (p == v ? 1 : 2) * n * static_cast<index_type>(sizeof(T)); }
  };
  template <class Use>
  struct without_sums : Use {
    template <class Entries>
    WHILST_HD void operator()(index_type j, const Entries& e, T Au) const {
      static_cast<void>(Use::operator()(j, e, Au));
    }
  };
  /// Records what `use` makes of A'u, a new p among it, and v = M p; and the finish, which receives (p,v) and (p,p).
  /// `use` ends with preconditioned_entry().
  template <class Run, class Use, class Finish>
  void multiply_transposed(Run& run, const char* name, const Operator& A, const Preconditioner& M, const Use& use,
                           const Finish& finish) const {
    if constexpr (Preconditioner::pointwise) {
      make_from_product(run, name, A.transposed(), u, product_transposed, use, finish);
    } else {
      make_from_product(run, name, A.transposed(), u, product_transposed, without_sums<Use>{use});
      M.record(run, columns, p, v);
      run.step("(p,v), (p,p)", columns, dots{p, v}, finish);
    }
  }
};

/// The weights that make an entry: of a product, and of what it was before.
struct weights_of_entry {
  double product, last;
};
template <class T>
struct make_entry {
  const weights_of_entry* by;
  T* u;
  index_type columns;  ///< of A, for bytes() only
  struct entries {
    weights_of_entry by;
    T u;
  };
  WHILST_HD entries read(index_type i) const { return {*by, u[i]}; }
  WHILST_HD auto operator()(index_type i, const entries& e, T Av) const {
    const T ui = static_cast<T>(e.by.product * static_cast<double>(Av) + e.by.last * static_cast<double>(e.u));
    u[i] = ui;
    const double one = ui;
    return sums{one * one};
  }
  index_type bytes(index_type n) const { return (2 * n + columns) * static_cast<index_type>(sizeof(T)); }
};

/// Makes entry j of v = M p where M is pointwise; the sums (p,v) and (p,p).
template <class T, class Preconditioner>
WHILST_HD sums<double, 2> preconditioned_entry(const Preconditioner& M, index_type j, T pj, T* v) {
  T vj = pj;
  if constexpr (Preconditioner::pointwise && !Preconditioner::is_identity) v[j] = vj = M(j, pj);
  const double one = pj, other = vj;
  return {one * other, one * one};
}

}  // namespace whilst
