#pragma once

#include <cstdint>

#include "whilst/basics/views.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/nonlinear/line_search/line_search_parallel.hpp"

namespace whilst {

/// A vector in memory of the place whose entries are sums of a few numbers each, or single numbers. Reading an entry
/// adds them up, in order, so the sum costs no step of its own.
template <class T>
struct gathered {
  const T* pieces = nullptr;
  /// Entry i is the sum of pieces[positions[k]] for offsets[i] <= k < offsets[i + 1]; pieces[i] if these are null.
  const std::int32_t *offsets = nullptr, *positions = nullptr;

  /// Which pieces an entry has: constant, so they can be fetched ahead, the first few in registers.
  struct range {
    static constexpr int held = on_device ? 4 : 1;
    std::int32_t next, end, position[held];
  };
  WHILST_HD range entries(index_type i) const {
    range of{};
    if (!offsets) return of;
    of.next = read_constant(offsets + i);
    of.end = read_constant(offsets + i + 1);
    for (int k = 0; k < range::held; ++k)
      if (of.next + k < of.end) of.position[k] = read_constant(positions + of.next + k);
    return of;
  }
  WHILST_HD T operator()(index_type i, const range& of) const {
    if (!offsets) return pieces[i];
    T first[range::held];
    for (int k = 0; k < range::held; ++k) first[k] = of.next + k < of.end ? pieces[of.position[k]] : T(0);
    T sum = 0;
    for (int k = 0; k < range::held; ++k) sum += first[k];
    WHILST_ROLLED  // rarely runs
        for (std::int32_t k = of.next + range::held; k < of.end; ++k) sum += pieces[read_constant(positions + k)];
    return sum;
  }
};

/// The results of an evaluation's steps, in the objective's memory.
template <class T>
struct evaluated {
  /// Numbers that sum to f.
  const double* values = nullptr;
  index_type count = 0;
  gathered<T> gradient = {};

  /// Share i of n of f.
  WHILST_HD double value(index_type i, index_type n) const {
    double sum = i < count ? values[i] : 0;
    WHILST_ROLLED  // otherwise the compiler first computes the trip count, with a division
        for (index_type e = i + n; e < count; e += n) sum += values[e];
    return sum;
  }
};

/// A symmetric matrix in compressed sparse row form, both triangles, on a place; owned by its objective.
template <class T>
struct hessian_view {
  index_type n = 0, nonzeros = 0;
  const std::int32_t *row_offsets = nullptr, *column_indices = nullptr;
  T* values = nullptr;
};

/// A symmetric matrix that is never assembled, in the objective's memory.
template <class T>
struct hessian_products {
  gathered<T> product;
  /// Its pieces are null if the diagonal is unknown.
  gathered<T> diagonal;
  /// Of the product, on average.
  double pieces_a_row = 1;
};

/// A function to minimize, as methods record it: an interface, so that methods and problems compile separately. Usually
/// a partially_separable; called_objective wraps your own kernels. The objective holds the results of its evaluations:
/// minimizers that run concurrently need objectives of their own.
template <class T>
class objective {
 public:
  virtual ~objective() = default;
  virtual place where() const = 0;
  virtual index_type unknowns() const = 0;
  /// Allocates the memory that the steps of evaluate and values_along use, which a body cannot allocate: call it before
  /// recording a body that contains them.
  virtual void prepare() const {}
  /// Records the steps that evaluate f and its gradient at x.
  virtual evaluated<T> evaluate(recorder& run, const T* x) const = 0;

  /// Whether one pass over memory can evaluate f alone at several points of a line, as the parallel line search needs.
  virtual bool has_values_along() const { return false; }
  /// The number of points on a line.
  static constexpr int points_of_line = line_searches::parallel::lengths;
  /// Records the steps that evaluate f at x + lengths[k] d for points_of_line lengths and write the values to
  /// values[k]; both arrays are memory of the place, read and written when the steps run.
  virtual void values_along([[maybe_unused]] recorder& run, [[maybe_unused]] const T* x, [[maybe_unused]] const T* d,
                            [[maybe_unused]] const double* lengths, [[maybe_unused]] double* values) const {}

  virtual bool has_hessian() const { return false; }
  /// The Hessian's pattern, and where make_hessian's steps put its values. Allocates on the first call, so call it
  /// before recording a body.
  virtual hessian_view<T> hessian() const { return {}; }
  /// Records the steps that compute the Hessian at x, if *wanted is not 0 when they run. With `positive`, each term's
  /// Hessian is made positive semi-definite first.
  virtual void make_hessian([[maybe_unused]] recorder& run, [[maybe_unused]] const T* x,
                            [[maybe_unused]] const int* wanted, [[maybe_unused]] bool positive) const {}

  /// Whether the Hessian can be multiplied by vectors without a matrix.
  virtual bool has_products() const { return false; }
  /// Where the steps of prepare_products and multiply leave their results. Also allocates on the first call.
  virtual hessian_products<T> products() const { return {}; }
  /// Records the steps that prepare the Hessian at x for products, if *wanted is not 0 when they run. `positive` as in
  /// make_hessian.
  virtual void prepare_products([[maybe_unused]] recorder& run, [[maybe_unused]] const T* x,
                                [[maybe_unused]] const int* wanted, [[maybe_unused]] bool positive) const {}
  /// Records the steps that multiply the Hessian, as last prepared, by v.
  virtual void multiply([[maybe_unused]] recorder& run, [[maybe_unused]] const T* v) const {}
};

}  // namespace whilst
