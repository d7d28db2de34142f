#include "whilst/linear/distributed/distributed_linear_solver.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "solvers/linear/solver_refusals.hpp"
#include "whilst/exchange/exchange.hpp"
#include "whilst/linear/distributed/record_distributed.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/prepared_solve.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

constexpr const char* making = "making a distributed linear solver";

template <class T>
distributed_method<T> method_for_groups(std::string_view asked) {
  const std::array all{distributed_conjugate_gradient<T>(), distributed_pipelined_conjugate_gradient<T>(),
                       distributed_minres<T>(), distributed_bicgstab<T>()};
  std::string names;
  for (const distributed_method<T>& one : all) {
    if (asked == one.name) return one;
    names.append(names.empty() ? "" : ", ").append(one.name);
  }
  throw error(making, "method '" + std::string(asked) + "' is not for several ranks", "Use one of " + names);
}

/// Throws whilst::error on what only a linear_solver has.
template <class T>
void check_for_groups(const linear_solver_options& options) {
  check_options(making, options);
  const auto refuse = [](bool is_asked, const std::string& what) {
    if (is_asked) throw error(making, what + " is not for several ranks", "Leave it out");
  };
  refuse(options.preconditioner != "none" && options.preconditioner != "jacobi",
         "preconditioner '" + options.preconditioner + "'");
  refuse(!is_format_for_kernels(options.format), "format " + options.format);
  refuse(options.executor == "resident", "executor resident");
  refuse(has_null_space(options), "a null space");
  refuse(has_deflation(options), "deflation");
  refuse(changes_matrix<T>(options), name_of_change(options));
}

/// What must not differ between ranks.
struct decisions {
  double rtol, atol, dtol;
  index_type max_iterations, history_capacity;
  std::array<char, 32> method, preconditioner;
  int unroll, on_host, how;
  bool keep_best;
  bool operator==(const decisions&) const = default;
};
std::array<char, 32> padded(const std::string& text) {
  std::array<char, 32> made{};
  std::copy_n(text.begin(), std::min(text.size(), made.size()), made.begin());
  return made;
}

}  // namespace

template <class T>
struct distributed_linear_solver<T>::implementation {
  using clock = std::chrono::steady_clock;
  std::optional<distributed_csr_matrix<T>> kept;  ///< on the host, where its pattern is read in place
  matrix_on_place<T> matrix;
  std::optional<whilst::exchange> exchange;
  std::optional<whilst::halo> halo;
  std::optional<prepared_solve<T>> solve;  ///< after all it refers to
  group ranks;

  implementation(const distributed_csr_matrix<T>& A, const linear_solver_options& options, double limit_seconds)
      : ranks(A.ranks()) {
    const auto began = clock::now();
    const index_type rows_a_rank = A.partition().rows() / ranks.size();
    std::optional<distributed_method<T>> method;
    std::optional<executor_choice> choice;
    const auto all = ranks.all_gather<decisions>(making, [&] {
      check_for_groups<T>(options);
      method = method_for_groups<T>(options.method);
      choice = choose_executor(wish_of(options), rows_a_rank, false, {});
      return std::vector{decisions{options.rtol, options.atol, options.dtol, options.max_iterations,
                                   options.history_capacity, padded(options.method), padded(options.preconditioner),
                                   options.unroll, choice->where.on_host(), static_cast<int>(choice->how),
                                   options.keep_best}};
    });
    ranks.agree(making, [&] {
      if (std::any_of(all.all.begin(), all.all.end(), [&](const decisions& one) { return one != all.all.front(); }))
        throw error(making, "ranks give different options", "Give all ranks the same");
      if (choice->where.on_host()) kept = A;
      matrix = matrix_on_place<T>(kept ? kept->local() : A.local(), choice->where, options.check_pointers, making);
      if (matrix.request().offsets_64)
        throw error(making, "a rank has more than 2147483391 nonzeros", "Split the rows among more ranks");
    });
    exchange.emplace(ranks, choice->where, limit_seconds);
    halo.emplace(*exchange, A.halo());
    ranks.agree(making, [&] {
      solve_request<T> request = matrix.request();
      request.columns = request.rows;  // of x, a rank has no ghosts
      request.preconditioner = preconditioner_from_name(making, options.preconditioner);
      request.settings = method_settings_of(options);
      solve.emplace(request, method->record(request, {halo->of_steps(), halo->is_mutual(), A.partition().rows()}),
                    choice->how, options, began);
    });
  }

  void require_group(std::string_view doing) const {
    if (const int lost = exchange->lost_rank(); lost >= 0)
      throw error(doing, "rank " + std::to_string(lost) + " did not come in an earlier solve",
                  "Call recover() on all ranks, or make a new group if its process has ended");
  }
};

template <class T>
distributed_linear_solver<T>::distributed_linear_solver(const distributed_csr_matrix<T>& A,
                                                        linear_solver_options options, double peer_limit_seconds)
    : implementation_("distributed_linear_solver", std::make_unique<implementation>(A, options, peer_limit_seconds)) {}
template <class T>
distributed_linear_solver<T>::~distributed_linear_solver() = default;
template <class T>
distributed_linear_solver<T>::distributed_linear_solver(distributed_linear_solver&&) noexcept = default;
template <class T>
distributed_linear_solver<T>& distributed_linear_solver<T>::operator=(distributed_linear_solver&&) noexcept = default;
template <class T>
prepared_program& distributed_linear_solver<T>::prepared() const {
  return *implementation_->solve;
}

template <class T>
report distributed_linear_solver<T>::solve(std::span<const T> b, std::span<T> x) {
  implementation_->require_group("solving a distributed linear system");
  return ticket(implementation_->solve->solve(b, x)).wait();
}
template <class T>
ticket distributed_linear_solver<T>::enqueue(stream_handle stream, const T* b, T* x) {
  return ticket(implementation_->solve->enqueue(stream, b, x));
}
template <class T>
void distributed_linear_solver<T>::update_values(const distributed_csr_matrix<T>& A) {
  implementation_->ranks.agree("updating the values of a distributed matrix", [&] {
    const auto mine = implementation_->solve->enter("updating a matrix's values");
    implementation_->solve->recorded().wait();
    implementation_->matrix.update_values(A.local().values());
    implementation_->solve->bind_values(implementation_->matrix.request().values);
  });
}
template <class T>
void distributed_linear_solver<T>::set_tolerances(double rtol, double atol) {
  implementation_->solve->set_tolerances(rtol, atol);
}
template <class T>
const std::string& distributed_linear_solver<T>::transport() const {
  return implementation_->exchange->transport();
}
template <class T>
int distributed_linear_solver<T>::lost_rank() const {
  return implementation_->exchange->lost_rank();
}
template <class T>
void distributed_linear_solver<T>::recover() {
  implementation_->exchange->recover();
  implementation_->halo->recover();
}

template class distributed_linear_solver<float>;
template class distributed_linear_solver<double>;

}  // namespace whilst
