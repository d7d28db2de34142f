#include "python/src/linear_solver.hpp"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "python/src/arrays.hpp"
#include "python/src/callbacks.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/program_cache.hpp"

namespace whilst::python {
namespace {

/// Waits for what is enqueued on a stream of the GPU on which the array lies; at once where there is no GPU.
void wait_for_stream([[maybe_unused]] stream_handle stream, [[maybe_unused]] const void* array) {
#if WHILST_WITH_CUDA
  if (cuda::device_count() == 0) return;
  cudaPointerAttributes found{};
  WHILST_CUDA("asking where an array lies", cudaPointerGetAttributes(&found, array));
  std::optional<cuda::device_guard> there;
  if (found.type == cudaMemoryTypeDevice || found.type == cudaMemoryTypeManaged) there.emplace(found.device);
  WHILST_CUDA("waiting for the stream that writes an array", cudaStreamSynchronize(stream));
#endif
}

template <class T>
report solve_with(linear_solver<T>& solver, const input<T>& b, const output<T>& x, const nb::object& look,
                  bool check_signals) {
  return watched(solver, look, check_signals, [&] { return solver.solve(span_of<T>(b), span_to<T>(x)); });
}

template <class T, class Offset>
csr_matrix<T> borrowed(index_type rows, index_type columns, const input<Offset>& offsets,
                       const input<std::int32_t>& indices, const input<T>& values) {
  const without_gil free_others;
  return csr_matrix<T>::borrow(rows, columns, span_of<Offset>(offsets), span_of<std::int32_t>(indices),
                               span_of<T>(values));
}

template <class T>
void bind_matrix(nb::module_& module, const char* name) {
  using matrix = csr_matrix<T>;
  // The arrays live as long as the matrix: argument 3 on are kept alive by argument 0, what is returned.
  nb::class_<matrix>(module, name)
      .def_static("borrow", &borrowed<T, std::int32_t>, nb::arg("rows"), nb::arg("columns"),
                  nb::arg("offsets").noconvert(), nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
                  nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>(), nb::keep_alive<0, 5>())
      .def_static("borrow", &borrowed<T, std::int64_t>, nb::arg("rows"), nb::arg("columns"),
                  nb::arg("offsets").noconvert(), nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
                  nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>(), nb::keep_alive<0, 5>())
      .def_static("on_device",
                  [](index_type rows, index_type columns, index_type nonzeros, bool wide, std::uintptr_t offsets,
                     std::uintptr_t indices, std::uintptr_t values) {
                    if (wide)
                      return matrix::on_device(rows, columns, nonzeros, at<std::int64_t>(offsets),
                                               at<std::int32_t>(indices), at<T>(values));
                    return matrix::on_device(rows, columns, nonzeros, at<std::int32_t>(offsets),
                                             at<std::int32_t>(indices), at<T>(values));
                  })
      .def_prop_ro("rows", &matrix::rows)
      .def_prop_ro("columns", &matrix::columns)
      .def_prop_ro("nonzeros", &matrix::nonzeros)
      .def_prop_ro("is_on_device", &matrix::is_on_device);
}

/// A: a matrix; or None, and `apply` and, where it is not None, `apply_transposed` are its products.
template <class T>
linear_solver<T> made_solver(const nb::object& A, index_type rows, index_type columns, nb::object apply,
                             nb::object apply_transposed, nb::object M, const std::string& text,
                             const std::string& preconditioner) {
  const linear_solver_options options = read_options(text, preconditioner);
  if (!A.is_none()) {
    const csr_matrix<T> matrix = nb::cast<csr_matrix<T>>(A);
    if (!M.is_none()) return linear_solver<T>(matrix, vector_function<T>(std::move(M), columns), options);
    const without_gil free_others;
    return linear_solver<T>(matrix, options);
  }
  auto product = vector_function<T>(std::move(apply), columns);
  if (!apply_transposed.is_none())
    return linear_solver<T>(rows, columns, std::move(product), vector_function<T>(std::move(apply_transposed), rows),
                            options);
  if (!M.is_none()) return linear_solver<T>(rows, std::move(product), vector_function<T>(std::move(M), rows), options);
  return linear_solver<T>(rows, std::move(product), options);
}

template <class T>
void bind_solver(nb::module_& module, const char* name) {
  using solver = linear_solver<T>;
  nb::class_<solver> bound(module, name);
  bound
      .def(
          "__init__",
          [](solver* made, const nb::object& A, index_type rows, index_type columns, nb::object apply,
             nb::object apply_transposed, nb::object M, const std::string& text, const std::string& preconditioner) {
            new (made) solver(made_solver<T>(A, rows, columns, std::move(apply), std::move(apply_transposed),
                                             std::move(M), text, preconditioner));
          },
          nb::arg("A").none(), nb::arg("rows"), nb::arg("columns"), nb::arg("apply").none(),
          nb::arg("apply_transposed").none(), nb::arg("M").none(), nb::arg("options"), nb::arg("preconditioner"),
          nb::keep_alive<1, 2>())
      .def(
          "solve",
          [](solver& self, const input<T>& b, const output<T>& x, const nb::object& look, bool check_signals) {
            return solve_with(self, b, x, look, check_signals);
          },
          nb::arg("b").noconvert(), nb::arg("x").noconvert(), nb::arg("look").none(), nb::arg("check_signals"))
      .def(
          "solve_on_device",
          [](solver& self, std::uintptr_t stream, std::uintptr_t b, std::uintptr_t x, bool check_signals) {
            return watched(self, nb::none(), check_signals,
                           [&] { return self.solve(stream_at(stream), at<T>(b), to<T>(x)); });
          },
          nb::arg("stream"), nb::arg("b"), nb::arg("x"), nb::arg("check_signals"))
      .def(
          "enqueue",
          [](solver& self, std::uintptr_t stream, std::uintptr_t b, std::uintptr_t x) {
            // On the host it solves at once.
            return watched(self, nb::none(), self.executor() == "host",
                           [&] { return self.enqueue(stream_at(stream), at<T>(b), to<T>(x)); });
          },
          nb::arg("stream"), nb::arg("b"), nb::arg("x"), nb::keep_alive<0, 1>())
      .def(
          "update_values",
          [](solver& self, const input<T>& values) {
            const without_gil free_others;
            self.update_values(span_of<T>(values));
          },
          nb::arg("values").noconvert())
      .def("update_matrix",
           [](solver& self, const csr_matrix<T>& A) {
             const without_gil free_others;
             self.update_values(A);
           })
      .def("set_tolerances", &solver::set_tolerances, nb::call_guard<without_gil>())
      .def("refresh_preconditioner", &solver::refresh_preconditioner, nb::call_guard<without_gil>())
      .def("executor", [](const solver& self) { return self.executor(); })
      .def("explain", [](const solver& self) { return self.explain(); })
      .def("memory", [](const solver& self) { return self.memory().text(); })
      .def("nbytes", [](const solver& self) { return self.bytes(); });
  bind_limits(bound);

  // Once, from the cache of whilst::solve, which copies the matrix that it keeps.
  module.def(
      "solve_cached",
      [](const csr_matrix<T>& A, const input<T>& b, const output<T>& x, const std::string& text,
         const std::string& preconditioner, const nb::object& look) {
        const linear_solver_options options = read_options(text, preconditioner);
        std::optional<lease<linear_solver<T>>> borrowed;
        {
          const without_gil free_others;
          borrowed.emplace(default_cache().borrow(A, options));
        }
        return solve_with(**borrowed, b, x, look, /*check_signals=*/true);
      },
      nb::arg("A"), nb::arg("b").noconvert(), nb::arg("x").noconvert(), nb::arg("options"), nb::arg("preconditioner"),
      nb::arg("look").none());
  module.def("solve_cached_on_device",
             [](const csr_matrix<T>& A, std::uintptr_t stream, std::uintptr_t b, std::uintptr_t x,
                const std::string& text, const std::string& preconditioner) {
               const linear_solver_options options = read_options(text, preconditioner);
               std::optional<lease<linear_solver<T>>> borrowed;
               std::optional<ticket> started;
               const bool may_go_on = options.method == "auto" || options.preconditioner == "auto";
               {
                 const without_gil free_others;
                 borrowed.emplace(default_cache().borrow(A, options));
                 if (!may_go_on) started.emplace((*borrowed)->enqueue(stream_at(stream), at<T>(b), to<T>(x)));
               }
               if (started) return wait_for(*started);
               return watched(**borrowed, nb::none(), /*check_signals=*/true,
                              [&] { return (*borrowed)->solve(stream_at(stream), at<T>(b), to<T>(x)); });
             });
}

/// Whether only a GPU can read an array.
bool is_memory_of_gpu([[maybe_unused]] const void* array) {
#if WHILST_WITH_CUDA
  if (cuda::device_count() == 0) return false;
  cudaPointerAttributes found{};
  WHILST_CUDA("asking where an array lies", cudaPointerGetAttributes(&found, array));
  return found.type == cudaMemoryTypeDevice;
#else
  return false;
#endif
}

}  // namespace

void bind_linear_solvers(nb::module_& module) {
  module.def("is_memory_of_gpu", [](std::uintptr_t array) { return is_memory_of_gpu(at<char>(array)); });
  module.def("wait_for_stream", [](std::uintptr_t stream, std::uintptr_t array) {
    const without_gil free_others;
    wait_for_stream(stream_at(stream), at<char>(array));
  });
  nb::class_<ticket>(module, "Ticket")
      .def("progress",
           [](const ticket& self) {
             const progress now = self.progress();
             return nb::make_tuple(now.iteration, now.residual_norm, now.running);
           })
      .def("cancel", &ticket::cancel)
      .def("done", &ticket::done)
      .def("wait", [](const ticket& self) { return wait_for(self); });
  bind_matrix<float>(module, "MatrixFloat");
  bind_matrix<double>(module, "MatrixDouble");
  bind_solver<float>(module, "SolverFloat");
  bind_solver<double>(module, "SolverDouble");
}

}  // namespace whilst::python
