#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <thread>

namespace whilst::python {

namespace nb = nanobind;

/// Calls what may wait for the GIL. While the interpreter exits, Python up to 3.13 ends other threads there by an
/// exception that is none of C++, which no destructor lets through and no handler may keep; as from 3.14 on, they wait
/// here until the process is gone.
template <class F>
auto outlived_by_python(F call) {
  try {
    return call();
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

/// Holds the GIL, as nanobind's, on daemon threads at exit, too.
class with_gil {
 public:
  with_gil() : state_(outlived_by_python([] { return PyGILState_Ensure(); })) {}
  ~with_gil() { PyGILState_Release(state_); }
  with_gil(const with_gil&) = delete;
  with_gil& operator=(const with_gil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Lets other threads have the GIL, as nanobind's, on daemon threads at exit, too.
class without_gil {
 public:
  without_gil() : state_(PyEval_SaveThread()) {}
  ~without_gil() {
    outlived_by_python([this] { PyEval_RestoreThread(state_); });
  }
  without_gil(const without_gil&) = delete;
  without_gil& operator=(const without_gil&) = delete;

 private:
  PyThreadState* state_;
};

/// Lets Python handle signals now and then, so that Ctrl-C stops a solve: throws what the handler raised. Without
/// effect on other threads than the main one, which alone handles signals in Python. Made with the GIL, called without.
class signal_check {
 public:
  signal_check()
      : on_main_thread_(
            nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident")) ==
            PyThread_get_thread_ident()) {}
  bool may_throw() const { return on_main_thread_; }
  void operator()() {
    if (!on_main_thread_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    const with_gil hold;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
    next_ = std::chrono::steady_clock::now() + interval;
  }

 private:
  static constexpr std::chrono::milliseconds interval{50};
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + interval;
  bool on_main_thread_;
};

}  // namespace whilst::python
