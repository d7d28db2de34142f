#pragma once

/// @file
/// Functions that are sums of terms, each of a few of the unknowns: f(x) = sum over e of term_e(x[index_e]). With CUDA
/// on, compile files that include this with nvcc.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "whilst/dense/symmetric_eigen.hpp"
#include "whilst/derivatives/dual.hpp"
#include "whilst/nonlinear/functions/named_group.hpp"
#include "whilst/nonlinear/functions/objective.hpp"
#include "whilst/nonlinear/functions/term_products.hpp"

namespace whilst {

/// Terms of one kind, as partially_separable holds them.
template <class T>
class term_group : public detail::named_group {
 public:
  /// Arrays on the place, entry (term e, unknown k) at k * terms + e.
  struct arrays {
    index_type terms;
    const std::int32_t* unknowns;  ///< -1: none, the term reads 0 there
    double* values;                ///< of the terms
    T* gradients;
    T* hessians;  ///< the upper triangle of each, row by row; null if no Hessian is needed
    // Null if products are not needed.
    T* blocks;                ///< block_size() numbers per term
    T *diagonals, *products;  ///< laid out as gradients
  };
  virtual int unknowns_a_term() const = 0;
  virtual void evaluate(recorder& run, const arrays& on_place, const T* x) const = 0;
  /// The sums of the terms at x + lengths[k] d, written to values[k] or added to it.
  virtual void evaluate_along(recorder& run, const arrays& on_place, const T* x, const T* d, const double* lengths,
                              double* values, bool added) const = 0;
  virtual void make_hessians(recorder& run, const arrays& on_place, const T* x, const int* wanted,
                             bool positive) const = 0;
  /// How many numbers are kept per term for products.
  virtual int block_size() const = 0;
  /// Computes blocks and diagonals.
  virtual void prepare_products(recorder& run, const arrays& on_place, const T* x, const int* wanted,
                                bool positive) const = 0;
  virtual void multiply(recorder& run, const arrays& on_place, const T* v) const = 0;

 protected:
  using named_group::named_group;
};

namespace detail {

template <int K>
struct term_indexes {
  std::int32_t of[K];
};

template <class T, class Term>
struct evaluate_terms {
  static constexpr bool fetches_constants = true;
  static constexpr int K = Term::unknowns;
  Term term;
  typename term_group<T>::arrays on_place;
  const T* x;

  template <class Team>
  WHILST_HD term_indexes<K> fetch(index_type e, const Team&) const {
    term_indexes<K> unknown;
    for (int k = 0; k < K; ++k) unknown.of[k] = read_constant(on_place.unknowns + k * on_place.terms + e);
    return unknown;
  }
  struct values {
    T of[K];
    bool is_there[K];
  };
  template <class Team>
  WHILST_HD values read(index_type, const Team&, const term_indexes<K>& unknown) const {
    values read;
    for (int k = 0; k < K; ++k) {
      read.is_there[k] = unknown.of[k] >= 0;
      read.of[k] = x[read.is_there[k] ? unknown.of[k] : 0];
    }
    return read;
  }
  WHILST_HD void operator()(index_type e, const values& at) const {
    dual<T, K> of_term[K];
    for (int k = 0; k < K; ++k) of_term[k] = at.is_there[k] ? dual<T, K>::variable(at.of[k], k) : dual<T, K>(0);
    const dual<T, K> value = term(e, static_cast<const dual<T, K>*>(of_term));
    for (int k = 0; k < K; ++k) on_place.gradients[k * on_place.terms + e] = value.gradient[k];
    on_place.values[e] = value.value;
  }
};

/// Terms at several points along a line, without derivatives: unknowns and direction are read once for all points.
template <class T, class Term>
struct evaluate_terms_along {
  static constexpr bool fetches_constants = true;
  static constexpr int K = Term::unknowns, points = objective<T>::points_of_line;
  Term term;
  typename term_group<T>::arrays on_place;
  const T *x, *d;
  const double* lengths;

  template <class Team>
  WHILST_HD term_indexes<K> fetch(index_type e, const Team&) const {
    term_indexes<K> unknown;
    for (int k = 0; k < K; ++k) unknown.of[k] = read_constant(on_place.unknowns + k * on_place.terms + e);
    return unknown;
  }
  struct line {
    T x[K], d[K], length[points];
  };
  template <class Team>
  WHILST_HD line read(index_type, const Team&, const term_indexes<K>& unknown) const {
    line along;
    for (int k = 0; k < K; ++k) {
      const bool is_there = unknown.of[k] >= 0;
      along.x[k] = is_there ? x[unknown.of[k]] : T(0);
      along.d[k] = is_there ? d[unknown.of[k]] : T(0);
    }
    for (int p = 0; p < points; ++p) along.length[p] = static_cast<T>(lengths[p]);
    return along;
  }
  WHILST_HD sums<double, points> operator()(index_type e, const line& along) const {
    sums<double, points> values;
    for (int p = 0; p < points; ++p) {
      T at[K];
      for (int k = 0; k < K; ++k) at[k] = along.x[k] + along.length[p] * along.d[k];
      values.value[p] = static_cast<T>(term(e, static_cast<const T*>(at)));
    }
    return values;
  }
};
struct keep_line_values {
  double* values;
  bool added;
  template <int points>
  WHILST_HD void operator()(const sums<double, points>& total) const {
    for (int p = 0; p < points; ++p) values[p] = added ? values[p] + total[p] : total[p];
  }
};

template <class T, class Term>
struct make_term_hessians {
  static constexpr int K = Term::unknowns;
  using number = second_order_dual<T, K>;
  Term term;
  typename term_group<T>::arrays on_place;
  const T* x;
  const int* wanted;
  bool positive;

  WHILST_HD void operator()(index_type e) const {
    if (!*wanted) return;
    T at[K];
    [[maybe_unused]] bool is_there[K];
    for (int k = 0; k < K; ++k) {
      const std::int32_t unknown = on_place.unknowns[k * on_place.terms + e];
      is_there[k] = unknown >= 0;
      at[k] = is_there[k] ? x[unknown] : T(0);
    }
    T* const target = on_place.hessians + e;
    if constexpr (has_second_derivatives<Term, T>) {
      T upper[number::hessian_size];
      term.second_derivatives(e, static_cast<const T*>(at), positive, static_cast<T*>(upper));
      // Products also multiply by the entry that stands for a missing unknown.
      for (int i = 0, k = 0; i < K; ++i)
        for (int j = i; j < K; ++j, ++k) target[k * on_place.terms] = is_there[i] && is_there[j] ? upper[k] : T(0);
    } else {
      number of_term[K];
      for (int k = 0; k < K; ++k) of_term[k] = is_there[k] ? number::variable(at[k], k) : number(0);
      number value = term(e, static_cast<const number*>(of_term));
      if (positive) make_positive<K>(value.hessian);
      for (int k = 0; k < number::hessian_size; ++k) target[k * on_place.terms] = value.hessian[k];
    }
  }
};

template <class T, class Term>
class group_of_terms final : public term_group<T> {
 public:
  using typename term_group<T>::arrays;
  group_of_terms(const char* name, const Term& term) : term_group<T>(name), term_(term) {}
  int unknowns_a_term() const override { return Term::unknowns; }
  void evaluate(recorder& run, const arrays& on_place, const T* x) const override {
    run.step(this->title("f and g of ").c_str(), on_place.terms, evaluate_terms<T, Term>{term_, on_place, x});
  }
  void evaluate_along(recorder& run, const arrays& on_place, const T* x, const T* d, const double* lengths,
                      double* values, bool added) const override {
    run.step(this->title("f along d of ").c_str(), on_place.terms,
             evaluate_terms_along<T, Term>{term_, on_place, x, d, lengths}, keep_line_values{values, added});
  }
  void make_hessians(recorder& run, const arrays& on_place, const T* x, const int* wanted,
                     bool positive) const override {
    run.step(this->title("Hessians of ").c_str(), on_place.terms,
             make_term_hessians<T, Term>{term_, on_place, x, wanted, positive});
  }
  int block_size() const override { return detail::block_size<T, Term>(); }
  void prepare_products(recorder& run, const arrays& on_place, const T* x, const int* wanted,
                        bool positive) const override {
    const term_blocks<T, Term> blocks = blocks_of(on_place);
    if constexpr (has_jacobian<Term, T>) {
      run.step(this->title("J of ").c_str(), on_place.terms, make_jacobians<T, Term>{term_, blocks, x, wanted});
    } else {
      arrays to_blocks = on_place;
      to_blocks.hessians = on_place.blocks;
      make_hessians(run, to_blocks, x, wanted, positive);
    }
    run.step(this->title("diagonals of ").c_str(), on_place.terms,
             make_diagonals<T, Term>{blocks, on_place.diagonals, wanted});
  }
  void multiply(recorder& run, const arrays& on_place, const T* v) const override {
    run.step(this->title("H v of ").c_str(), on_place.terms,
             multiply_terms<T, Term>{blocks_of(on_place), v, on_place.products});
  }

 private:
  static term_blocks<T, Term> blocks_of(const arrays& on_place) {
    return {on_place.terms, on_place.unknowns, on_place.blocks};
  }
  Term term_;
};

}  // namespace detail

/// The value of a term, set to zero, with its derivatives: for a term that a distributed_minimizer evaluates on several
/// ranks, on those that do not count it.
template <class S>
WHILST_HD S without_value(S of_term) {
  if constexpr (std::is_arithmetic_v<S>) {
    of_term = 0;
  } else {
    of_term.value = 0;
  }
  return of_term;
}

/// A sum of terms of one kind or several. A term is a trivially copyable functor; its pointers point to memory of the
/// place:
/// @code
///   struct spring {                                       // pulls two points of a line together
///     static constexpr int unknowns = 2;                  // K: how many a term has, from 1 to 16 or so
///     const double* stiffness;
///     template <class S>
///     WHILST_HD S operator()(whilst::index_type e, const S* x) const {   // term e of its K unknowns
///       return stiffness[e] / 2 * (x[0] - x[1]) * (x[0] - x[1]);
///     }
///   };
///   whilst::partially_separable<double> f(whilst::place::host(), 3);
///   f.add("springs", spring{stiffness}, std::vector<std::int32_t>{0, 1, 1, 2});   // K indices per term
/// @endcode
/// Dual numbers give the derivatives: the gradient of one term at a time, and its Hessian (K x K) for methods that need
/// it. They are gathered by unknown, in a fixed order, so results are bitwise reproducible; an unknown shared by very
/// many terms is therefore slow on a GPU, and least_squares.hpp serves few unknowns with many terms better. The
/// function holds the results of its evaluations: minimizers that run concurrently need functions of their own. The
/// parallel line search also calls terms with plain numbers: S is then T.
///
/// If a term's own formulas are cheaper than second-order duals, it may provide its Hessian: a member `WHILST_HD void
/// second_derivatives(whilst::index_type e, const T* x, bool positive, T* upper) const` that writes the upper triangle,
/// row by row; with `positive`, that of a positive semi-definite replacement. Its entries for a missing unknown are not
/// read.
template <class T>
class partially_separable final : public objective<T> {
 public:
  /// Throws whilst::error if there are no unknowns, or more than 32-bit indices can address.
  partially_separable(place where, index_type unknowns);
  ~partially_separable() override;
  partially_separable(partially_separable&&) noexcept;
  partially_separable& operator=(partially_separable&&) noexcept;

  /// Adds terms: Term::unknowns indices for each, term after term; -1 stands for no unknown, and the term reads 0
  /// there. Throws whilst::error on indices out of range, and once a minimizer has been made of the function.
  template <class Term>
  void add(const char* name, const Term& term, std::span<const std::int32_t> unknowns_of_terms) {
    static_assert(std::is_trivially_copyable_v<Term>, "terms are copied to the device byte by byte");
    add_group(name, std::unique_ptr<term_group<T>>(new detail::group_of_terms<T, Term>(name, term)), unknowns_of_terms);
  }
  template <class Term>
  void add(const char* name, const Term& term, const std::vector<std::int32_t>& unknowns_of_terms) {
    add(name, term, std::span<const std::int32_t>(unknowns_of_terms));
  }

  /// Adds terms 1/2 |r_e|^2: blocks of M residuals of K unknowns each, such as one camera's image of one point. The
  /// functor is a term except for its call operator:
  /// @code
  ///   struct distance {                                     // of a point from where it was seen
  ///     static constexpr int unknowns = 2, residuals = 2;   // K, and M
  ///     const double* seen;
  ///     template <class S>
  ///     WHILST_HD void operator()(whilst::index_type e, const S* x, S* r) const {
  ///       r[0] = x[0] - seen[2 * e];
  ///       r[1] = x[1] - seen[2 * e + 1];
  ///     }
  ///   };
  /// @endcode
  /// Their gradient is J'r, and their Hessian, for all methods, the Gauss-Newton matrix J'J: first derivatives only,
  /// always positive semi-definite. May be mixed with other terms. Throws as add does.
  template <class Residuals>
  void add_residuals(const char* name, const Residuals& residuals, std::span<const std::int32_t> unknowns_of_blocks) {
    add(name, detail::sum_of_residuals<Residuals>{residuals}, unknowns_of_blocks);
  }
  template <class Residuals>
  void add_residuals(const char* name, const Residuals& residuals,
                     const std::vector<std::int32_t>& unknowns_of_blocks) {
    add_residuals(name, residuals, std::span<const std::int32_t>(unknowns_of_blocks));
  }

  place where() const override;
  index_type unknowns() const override;
  void prepare() const override;
  evaluated<T> evaluate(recorder& run, const T* x) const override;
  bool has_values_along() const override { return true; }
  void values_along(recorder& run, const T* x, const T* d, const double* lengths, double* values) const override;
  bool has_hessian() const override { return true; }
  hessian_view<T> hessian() const override;
  void make_hessian(recorder& run, const T* x, const int* wanted, bool positive) const override;
  bool has_products() const override { return true; }
  hessian_products<T> products() const override;
  void prepare_products(recorder& run, const T* x, const int* wanted, bool positive) const override;
  void multiply(recorder& run, const T* v) const override;

 private:
  void add_group(const char* name, std::unique_ptr<term_group<T>> group,
                 std::span<const std::int32_t> unknowns_of_terms);
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

extern template class partially_separable<float>;
extern template class partially_separable<double>;

}  // namespace whilst
