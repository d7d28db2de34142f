#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "python/src/gil.hpp"
#include "whilst/host/replayed_solver.hpp"

namespace whilst::python {

/// A Python function that any thread may copy, keep and release, with or without the GIL.
class shared_function {
 public:
  explicit shared_function(nb::object function)
      : function_(new nb::object(std::move(function)), [](nb::object* last) {
          const with_gil hold;
          delete last;
        }) {}
  const nb::object& get() const { return *function_; }
  /// With the GIL.
  template <class... Arguments>
  nb::object operator()(Arguments&&... arguments) const {
    return outlived_by_python([&] { return get()(std::forward<Arguments>(arguments)...); });
  }

 private:
  std::shared_ptr<nb::object> function_;
};

/// A new NumPy array of these numbers. A copy: Python code may keep it for as long as it likes.
template <class T>
nb::object array_of(const T* numbers, std::size_t size) {
  auto copy = std::make_unique<T[]>(size);
  if (size) std::memcpy(copy.get(), numbers, size * sizeof(T));
  T* const data = copy.get();
  nb::capsule owner(data, [](void* array) noexcept { delete[] static_cast<T*>(array); });
  static_cast<void>(copy.release());
  return nb::cast(nb::ndarray<nb::numpy, T>(data, {size}, owner));
}

/// A Python function from a vector of `inputs` entries to one of n, as the library's callback for host memory. The
/// function must return a contiguous array of the same type and n entries: the Python side converts and checks.
template <class T>
std::function<void(stream_handle, index_type, const T*, T*)> vector_function(nb::object function, index_type inputs) {
  return [call = shared_function(std::move(function)), inputs](stream_handle, index_type n, const T* x, T* y) {
    const with_gil hold;
    const nb::object result = call(array_of(x, static_cast<std::size_t>(inputs)));
    const auto numbers = nb::cast<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(result, false);
    if (static_cast<index_type>(numbers.shape(0)) != n) throw std::logic_error("a callback's result was not checked");
    if (n) std::memcpy(y, numbers.data(), static_cast<std::size_t>(n) * sizeof(T));
  };
}

/// Waits for a solve without the GIL; Ctrl-C cancels it.
template <class Ticket>
auto wait_for(const Ticket& solve) {
  try {
    {
      const without_gil free_others;
      const auto began = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - began < std::chrono::milliseconds(1))
        if (solve.done()) return solve.wait();
    }
    // Not before: making one takes longer than a short solve needs to end.
    signal_check check = outlived_by_python([] { return signal_check(); });
    const without_gil free_others;
    while (!solve.done()) {
      check();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return solve.wait();
  } catch (...) {
    const without_gil free_others;
    solve.cancel();
    static_cast<void>(solve.wait());  // it reads and writes arrays that the caller is about to release
    throw;
  }
}

/// What `start` returns, which has the solver solve on this thread without the GIL; `look`, if any, sees each
/// iteration, and Ctrl-C ends the solve where `check_signals` is true.
template <class Start>
auto watched(replayed_solver& solver, const nb::object& look, bool check_signals, const Start& start) {
  std::optional<shared_function> tell;
  if (!look.is_none()) tell.emplace(look);
  std::optional<signal_check> check;
  if (check_signals) check.emplace();
  const without_gil free_others;
  if (!tell && !(check && check->may_throw())) return start();

  struct restored {
    replayed_solver& solver;
    ~restored() { solver.set_monitor({}); }
  } const unmonitored_again{solver};
  solver.set_monitor([tell, check](const progress& now) mutable {
    if (check) (*check)();
    if (!tell) return;
    const with_gil hold;
    (*tell)(now.iteration, now.residual_norm);
  });
  return start();
}

/// Binds what all solvers set and cancel alike. They wait for the solve of another thread, which asks for the GIL
/// meanwhile. `inner` finds the library's solver in the bound object.
template <class Bound, class Inner>
void bind_limits(nb::class_<Bound>& bound, const Inner& inner) {
  bound
      .def(
          "set_max_iterations", [inner](Bound& self, index_type limit) { inner(self).set_max_iterations(limit); },
          nb::call_guard<without_gil>())
      .def(
          "set_deadline", [inner](Bound& self, double seconds) { inner(self).set_deadline(seconds); },
          nb::call_guard<without_gil>())
      .def("cancel", [inner](Bound& self) { inner(self).cancel(); });
}
template <class Solver>
void bind_limits(nb::class_<Solver>& bound) {
  bind_limits(bound, [](Solver& self) -> Solver& { return self; });
}

}  // namespace whilst::python
