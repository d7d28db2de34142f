#include "whilst/linear/batch_linear_solver.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "solvers/linear/automatic/choose_method.hpp"
#include "solvers/linear/deflation/deflation.hpp"
#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/null_space/null_space.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/prepared_solve.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {

namespace {

constexpr std::string_view making_batch = "making a batch solver";

[[noreturn]] void refuse(const std::string& what, const std::string& cure) { throw error(making_batch, what, cure); }

/// Sizes are multiplied by the number of systems; neither the products nor their byte counts may overflow.
constexpr index_type most_entries = std::numeric_limits<index_type>::max() / 64;

void check(const linear_solver_options& options, index_type rows, index_type columns, index_type nonzeros,
           index_type systems) {
  if (rows != columns)
    refuse("the pattern has " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns",
           "Give a square one");
  if (systems < 1) refuse("the number of systems is " + std::to_string(systems), "Give 1 or more");
  if (systems > most_entries / std::max<index_type>({rows, nonzeros, 1}))
    refuse(std::to_string(systems) + " systems of " + std::to_string(nonzeros) + " nonzeros are beyond any memory",
           "Solve them in parts");
  check_options(making_batch, options);
}

}  // namespace

template <class T>
struct batch_linear_solver<T>::implementation {
  index_type systems;
  matrix_on_place<T> pattern;
  buffer<T> values_on_gpu;                   ///< for solves from host memory
  std::unique_ptr<prepared_solve<T>> solve;  ///< after all it refers to

  implementation(const csr_matrix<T>& given, index_type number, linear_solver_options options) : systems(number) {
    const auto began = std::chrono::steady_clock::now();
    // Not cg: the values come with each solve, too late to look at them.
    if (options.method == automatic_method) options.method = "bicgstab";
    const linear_method<T>& method = method_from_name<T>(making_batch, options.method);
    check(options, given.rows(), given.columns(), given.nonzeros(), systems);
    if (!method.in_kernel.runs)
      refuse("method " + options.method + " records steps for one large system, and a batch is one kernel",
             "Use another method, or a linear_solver for each system");
    if (!is_format_for_kernels(options.format))
      refuse("format " + options.format + " records steps for one large system, and a batch is one kernel",
             "Use format csr or auto, or a linear_solver for each system");
    if (has_null_space(options))
      refuse("a null space is projected out by steps for one large system, and a batch is one kernel",
             "Set null_space to none, or use a linear_solver for each system");
    if (has_deflation(options))
      refuse("vectors are deflated by steps for one large system, and a batch is one kernel",
             "Leave deflation out, or use a linear_solver for each system");
    if (changes_matrix<T>(options))
      refuse(name_of_change(options) + " is done by steps for one large system, and a batch is one kernel",
             "Leave the option out, or use a linear_solver for each system");
    const place where = place_of_batch(wish_of(options), std::string(making_batch), "a linear_solver", given.rows(),
                                       given.is_on_device());
    pattern = matrix_on_place<T>(given, where, options.check_pointers, making_batch);
    solve_request<T> request = pattern.request();
    request.preconditioner = preconditioner_from_name(making_batch, options.preconditioner);
    request.settings = method_settings_of(options);
    request.systems = systems;
    request.in_kernel = true;
    solve = std::make_unique<prepared_solve<T>>(request, method.record(request), executor::batch, options, began);
    solve->desk().common.format = csr_format;
  }

  /// While one system is being solved, x of another may already be written.
  void check_overlap(const T* values, const T* b, const T* x) const {
    if (!values || !b || !x) return;  // refused by name when they are bound
    const index_type rows = solve->common().rows, nonzeros = solve->common().nonzeros;
    const auto x_range = memory_range::of(x, systems * rows);
    const auto refuse = [&](const std::string& with, const std::string& cure) {
      throw error("solving a batch of linear systems", "x overlaps " + with, cure);
    };
    if (x != b && x_range.overlaps(memory_range::of(b, systems * rows)))
      refuse("b, and not entry by entry", "Give x memory of its own, or that of b from the first entry on");
    if (x_range.overlaps(memory_range::of(values, systems * nonzeros)))
      refuse("the values of the matrices", "Give x memory of its own");
  }

  void check_size(const char* what, std::size_t given, const char* of_one_system, index_type one) const {
    if (static_cast<index_type>(given) == systems * one) return;
    throw error("solving a batch of linear systems",
                std::string(what) + " has " + std::to_string(given) + " entries, and " + std::to_string(systems) +
                    " systems of " + std::to_string(one) + " " + of_one_system + " have " +
                    std::to_string(systems * one),
                "Put the systems one after another");
  }
};

template <class T>
batch_linear_solver<T>::batch_linear_solver(const csr_matrix<T>& pattern, index_type systems,
                                            linear_solver_options options)
    : implementation_("batch_linear_solver", std::make_unique<implementation>(pattern, systems, std::move(options))) {}
template <class T>
batch_linear_solver<T>::~batch_linear_solver() = default;
template <class T>
batch_linear_solver<T>::batch_linear_solver(batch_linear_solver&&) noexcept = default;
template <class T>
batch_linear_solver<T>& batch_linear_solver<T>::operator=(batch_linear_solver&&) noexcept = default;

template <class T>
prepared_program& batch_linear_solver<T>::prepared() const {
  return *implementation_->solve;
}

template <class T>
batch_report batch_linear_solver<T>::solve(std::span<const T> values, std::span<const T> b, std::span<T> x) {
  implementation& self = *implementation_;
  const report_fields& common = self.solve->common();
  self.check_size("values", values.size(), "nonzeros", common.nonzeros);
  self.check_size("b", b.size(), "rows", common.rows);
  self.check_size("x", x.size(), "rows", common.rows);
  self.check_overlap(values.data(), b.data(), x.data());
  const turns::turn mine = self.solve->enter("solving a batch of linear systems");
  const place where = self.solve->recorded().where();
  self.solve->desk().require_context("solving a batch of linear systems");
  if (where.on_host()) {
    self.solve->bind_values(values.data());
  } else {
    const index_type count = self.systems * common.nonzeros;
    if (self.values_on_gpu.size() != count) self.values_on_gpu = buffer<T>(where, count);
    self.values_on_gpu.upload(values.data());
    self.solve->bind_values(self.values_on_gpu.data());
  }
  return batch_ticket(self.solve->solve(b, x)).wait();
}

template <class T>
batch_ticket batch_linear_solver<T>::enqueue(stream_handle stream, const T* values, const T* b, T* x) {
  implementation_->check_overlap(values, b, x);
  const turns::turn mine = implementation_->solve->enter("enqueueing a batch of linear systems");
  implementation_->solve->bind_values(values, stream);
  return batch_ticket(implementation_->solve->enqueue(stream, b, x));
}

template <class T>
void batch_linear_solver<T>::set_tolerances(double rtol, double atol) {
  implementation_->solve->set_tolerances(rtol, atol);
}
template <class T>
index_type batch_linear_solver<T>::systems() const {
  return implementation_->systems;
}
template <class T>
const std::string& batch_linear_solver<T>::device() const {
  return implementation_->solve->common().device;
}

template class batch_linear_solver<float>;
template class batch_linear_solver<double>;

}  // namespace whilst
