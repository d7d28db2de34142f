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

/// A pointer in memory of a place, for the functors of every door, be they terms, blocks, residuals, curves, operators
/// or preconditioners: they hold its view, a slot, in the place of a pointer, and the data that they read can be
/// exchanged between solves without recording anything:
/// @code
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
/// @endcode
/// Owns the cell, which must outlive what holds its view; not the data. Programs that are recorded by hand have
/// recorder::slot for this.
template <class T>
class rebindable {
 public:
  /// pointer: to memory of the place. Throws whilst::error where it is null, or the place cannot use it.
  rebindable(place where, T* pointer) : cell_(where, pointer) {}

  slot<T> view() const { return {static_cast<T* const*>(cell_.where())}; }

  /// Binds another pointer, in the order of `stream` (a null one is the legacy default stream; not looked at on the
  /// host): solves that were enqueued on it before keep the former one, those after it have this one. Who has solves in
  /// flight on other streams makes `stream` wait for them first. Nothing is allocated or waited for; in a capture it
  /// becomes part of the graph. Throws whilst::error on a null pointer, and on memory that the place cannot use.
  void bind(CUstream_st* stream, T* pointer) { cell_.bind(stream, pointer); }

 private:
  detail::pointer_cell cell_;
};

}  // namespace whilst
