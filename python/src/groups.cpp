#include "python/src/groups.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/src/arrays.hpp"
#include "python/src/callbacks.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/group/thread_group.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"

namespace whilst::python {
namespace {

/// A Python function that gets this rank's bytes and returns those of all ranks, one after another.
group::gather_bytes gather_by(nb::object function) {
  return [call = shared_function(std::move(function))](std::span<const std::byte> mine, std::span<const std::size_t>,
                                                       std::span<std::byte> all) {
    const with_gil hold;
    const auto given = nb::cast<nb::bytes>(call(nb::bytes(mine.data(), mine.size())));
    if (given.size() != all.size())
      throw error("gathering bytes by Python",
                  "there are " + std::to_string(given.size()) + " instead of " + std::to_string(all.size()),
                  "Return the bytes of all ranks in their order");
    if (!all.empty()) std::memcpy(all.data(), given.c_str(), all.size());
  };
}

/// What work() returns, once it has returned on all ranks; throws on all if it does on one.
nb::object agreed(const group& ranks, const std::string& call, const nb::object& work) {
  nb::object made;
  const without_gil free_others;
  ranks.agree(call, [&] {
    const with_gil hold;
    made = outlived_by_python([&] { return work(); });
  });
  return made;
}

template <class T>
void make_matrix(distributed_csr_matrix<T>* made, const group& ranks, index_type first_row,
                 const input<std::int64_t>& offsets, const input<std::int64_t>& columns, const input<T>& values) {
  const without_gil free_others;
  new (made) distributed_csr_matrix<T>(ranks, first_row, span_of<std::int64_t>(offsets), span_of<std::int64_t>(columns),
                                       span_of<T>(values));
}

template <class T>
void bind_matrix(nb::module_& module, const char* name) {
  using matrix = distributed_csr_matrix<T>;
  nb::class_<matrix>(module, name)
      .def("__init__", &make_matrix<T>, nb::arg("group"), nb::arg("first_row"), nb::arg("offsets").noconvert(),
           nb::arg("columns").noconvert(), nb::arg("values").noconvert())
      .def("update_values",
           [](matrix& self, const input<T>& values) {
             const without_gil free_others;
             self.update_values(span_of<T>(values));
           })
      .def_prop_ro("rows_of_all", [](const matrix& self) { return self.partition().rows(); })
      .def_prop_ro("first_row", [](const matrix& self) { return self.partition().first(self.ranks().rank()); })
      .def_prop_ro("rows", [](const matrix& self) { return self.halo().own; })
      .def_prop_ro("ghosts", [](const matrix& self) { return self.halo().ghosts.size(); });
}

template <class T>
void bind_solver(nb::module_& module, const char* name) {
  using solver = distributed_linear_solver<T>;
  nb::class_<solver> bound(module, name);
  bound
      .def("__init__",
           [](solver* made, const distributed_csr_matrix<T>& A, const std::string& text,
              const std::string& preconditioner, double peer_limit_seconds) {
             const without_gil free_others;
             linear_solver_options options;
             A.ranks().agree("reading the options of a distributed solver",
                             [&] { options = read_options(text, preconditioner); });
             new (made) solver(A, options, peer_limit_seconds);
           })
      .def(
          "solve",
          [](solver& self, const input<T>& b, const output<T>& x, const nb::object& look) {
            return watched(self, look, /*check_signals=*/true,
                           [&] { return self.solve(span_of<T>(b), span_to<T>(x)); });
          },
          nb::arg("b").noconvert(), nb::arg("x").noconvert(), nb::arg("look").none())
      .def(
          "enqueue",
          [](solver& self, std::uintptr_t stream, std::uintptr_t b, std::uintptr_t x) {
            return watched(self, nb::none(), self.executor() == "host",
                           [&] { return self.enqueue(stream_at(stream), at<T>(b), to<T>(x)); });
          },
          nb::arg("stream"), nb::arg("b"), nb::arg("x"), nb::keep_alive<0, 1>())
      .def("update_values", &solver::update_values, nb::call_guard<without_gil>())
      .def("set_tolerances", &solver::set_tolerances, nb::call_guard<without_gil>())
      .def("recover", &solver::recover, nb::call_guard<without_gil>())
      .def("transport", [](const solver& self) { return self.transport(); })
      .def("lost_rank", [](const solver& self) { return self.lost_rank(); })
      .def("executor", [](const solver& self) { return self.executor(); })
      .def("explain", [](const solver& self) { return self.explain(); })
      .def("memory", [](const solver& self) { return self.memory().text(); });
  bind_limits(bound);
}

}  // namespace

void bind_groups(nb::module_& module) {
  nb::class_<group>(module, "Group")
      .def(nb::init<>())
      .def("__init__", [](group* made, int rank, int size,
                          nb::object gather) { new (made) group(rank, size, gather_by(std::move(gather))); })
      .def_static("threads", [](int size) { return make_thread_groups(size); })
      .def_prop_ro("rank", &group::rank)
      .def_prop_ro("size", &group::size)
      .def("agree", &agreed)
      .def(
          "all_gather",
          [](const group& self, index_type mine) {
            return self.all_gather<index_type>("gathering numbers", std::span<const index_type>(&mine, 1)).all;
          },
          nb::call_guard<without_gil>())
      .def(
          "barrier", [](const group& self) { self.barrier(); }, nb::call_guard<without_gil>())
      .def(
          "fail", [](const group& self, const std::string& message) { self.fail(message); },
          nb::call_guard<without_gil>());
  bind_matrix<float>(module, "DistributedMatrixFloat");
  bind_matrix<double>(module, "DistributedMatrixDouble");
  bind_solver<float>(module, "DistributedSolverFloat");
  bind_solver<double>(module, "DistributedSolverDouble");
}

}  // namespace whilst::python
