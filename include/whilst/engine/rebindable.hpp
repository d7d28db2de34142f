#pragma once

#include "whilst/basics/views.hpp"
#include "whilst/engine/memory/memory.hpp"

struct CUstream_st;

namespace whilst {

namespace detail {

/// A cell in memory of the place that holds a pointer.
class pointer_cell {
 public:
  pointer_cell(place where, const void* pointer);
  void* where() const { return cell_.data(); }
  void bind(CUstream_st* stream, const void* pointer);

 private:
  place place_;
  buffer<const void*> cell_;
};

}  // namespace detail

/// A pointer in memory of a place, for any functor: term, block, residual, curve, operator or preconditioner. The
/// functor holds its view, a slot, instead of a pointer, so you can exchange the data it reads between solves without
/// re-recording: @code
///   struct spring {
///     static constexpr int unknowns = 2;
///     whilst::slot<const double> stiffness;
///     template <class S>
///     WHILST_HD S operator()(whilst::index_type e, const S* x) const {
///       return stiffness.get()[e] / 2 * (x[0] - x[1]) * (x[0] - x[1]);
///     }
///   };
///   whilst::rebindable<const double> stiffness(where, first);
///   f.add("springs", spring{stiffness.view()}, ends);    // then make a minimizer of f, and solve
///   stiffness.bind(stream, second);                      // for what `stream` runs from here on
/// @endcode Owns the cell, which must outlive all holders of its view, but not the data. Programs recorded by hand use
/// recorder::slot instead.
template <class T>
class rebindable {
 public:
  /// pointer: to memory of the place. Throws whilst::error if it is null or the place cannot use it.
  rebindable(place where, T* pointer) : cell_(where, pointer) {}

  slot<T> view() const { return {static_cast<T* const*>(cell_.where())}; }

  /// Binds another pointer, in the order of `stream` (null is the legacy default stream; ignored on the host): solves
  /// enqueued on it before keep the old pointer, those after get the new one. If other streams have solves in flight,
  /// make `stream` wait for them first. Allocates nothing, waits for nothing; in a capture it becomes part of the
  /// graph. Throws whilst::error on a null pointer and on memory that the place cannot use.
  void bind(CUstream_st* stream, T* pointer) { cell_.bind(stream, pointer); }

 private:
  detail::pointer_cell cell_;
};

}  // namespace whilst
