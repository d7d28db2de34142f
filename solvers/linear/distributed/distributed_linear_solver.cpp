#include "whilst/linear/distributed/distributed_linear_solver.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "solvers/linear/distributed/coarse_space.hpp"
#include "solvers/linear/distributed/multigrid/amg_across_ranks.hpp"
#include "solvers/linear/distributed/preconditioner_of_rank.hpp"
#include "solvers/linear/distributed/transpose_of_group.hpp"
#include "solvers/linear/polynomial/polynomial.hpp"
#include "whilst/linear/distributed/record_distributed.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/prepared_solve.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

constexpr const char* making_distributed_solver = "making a distributed linear solver";

template <class T>
distributed_method<T> method_for_groups(std::string_view asked) {
  const std::array all{distributed_conjugate_gradient<T>(),
                       distributed_flexible_conjugate_gradient<T>(),
                       distributed_pipelined_conjugate_gradient<T>(),
                       distributed_minres<T>(),
                       distributed_bicgstab<T>(),
                       distributed_gmres<T>(),
                       distributed_lsqr<T>()};
  std::string names;
  for (const distributed_method<T>& one : all) {
    if (asked == one.name) return one;
    names.append(names.empty() ? "" : ", ").append(one.name);
  }
  throw error(making_distributed_solver, "method '" + std::string(asked) + "' is not for several ranks",
              "Use one of " + names);
}

constexpr std::string_view chebyshev_name = "chebyshev", amg_name = "amg";

/// A preconditioner that this method takes on several ranks.
template <class T>
preconditioner_choice preconditioner_for_groups(const distributed_method<T>& method,
                                                const linear_solver_options& options) {
  preconditioner_choice chosen = chosen_preconditioner(making_distributed_solver, options);
  if (chosen.name == automatic_preconditioner)
    throw error(making_distributed_solver, "preconditioner auto is not for several ranks", "Name one");
  if (chosen.description && !method.takes_parts)
    throw error(making_distributed_solver,
                "method " + options.method + " does not take preconditioner " + chosen.name + " on several ranks",
                "Use method cg or flexible-cg, or preconditioner none or jacobi");
  return chosen;
}

/// Whether all ranks make one amg together. Throws whilst::error where their settings of it differ.
bool is_across_ranks(const group& ranks, const amg_options& options) {
  struct settings {
    bool suits;
    std::array<char, 16> precision;
    double strength;
    index_type coarsest_rows;
    int most_levels;
    bool operator==(const settings&) const = default;
  };
  const auto all = ranks.all_gather<settings>(making_distributed_solver, [&] {
    settings own{suits_amg_across_ranks(options), {}, options.strength, options.coarsest_rows, options.most_levels};
    std::copy_n(options.precision.begin(), std::min(options.precision.size(), own.precision.size()),
                own.precision.begin());
    return std::vector{own};
  });
  ranks.agree(making_distributed_solver, [&] {
    if (std::any_of(all.all.begin(), all.all.end(), [&](const settings& one) { return one != all.all.front(); }))
      throw error(making_distributed_solver, "ranks give different settings of preconditioner amg",
                  "Give all ranks the same");
  });
  return all.all.front().suits;
}

}  // namespace

template <class T>
struct distributed_linear_solver<T>::implementation {
  using clock = std::chrono::steady_clock;
  std::optional<distributed_csr_matrix<T>> kept;  ///< on the host, where its pattern is read in place
  matrix_on_place<T> matrix;
  distributed_setup setup;
  std::optional<transpose_of_group<T>> transpose;        ///< if the method multiplies with it
  std::optional<preconditioner_of_rank<T>> M;            ///< if it is made from the matrix
  std::optional<coarse_space<T>> coarse;                 ///< beside an amg within ranks
  std::unique_ptr<preconditioner_of_group<T>> of_group;  ///< instead, if all ranks make one M together
  buffer<const T*> values_of_M;                          ///< where M finds the address of the matrix's values
  std::string words_of_polynomial;
  std::optional<prepared_solve<T>> solve;  ///< after all it refers to

  implementation(const distributed_csr_matrix<T>& A, const linear_solver_options& options, double limit_seconds,
                 clock::time_point began)
      : setup(making_distributed_solver, A.ranks(), options, options.method, A.partition().rows(), limit_seconds) {
    const group& ranks = setup.ranks();
    std::optional<distributed_method<T>> method;
    preconditioner_choice chosen;
    const auto polynomials = ranks.all_gather<chebyshev_options>(making_distributed_solver, [&] {
      method = method_for_groups<T>(options.method);
      if (!A.is_square() && !method->record_with_transpose)
        throw error(making_distributed_solver,
                    "method " + options.method + " needs a square matrix, split alike by rows and columns, and A has " +
                        std::to_string(A.partition().rows()) + " rows and " + std::to_string(A.columns().rows()) +
                        " columns",
                    "Use method lsqr, or split the columns as the rows");
      chosen = preconditioner_for_groups(*method, options);
      return std::vector{chosen.options.chebyshev};
    });
    ranks.agree(making_distributed_solver, [&] {
      const chebyshev_options& own = chosen.options.chebyshev;
      for (const chebyshev_options& one : polynomials.all)
        if (one.degree != own.degree || one.lanczos_steps != own.lanczos_steps || one.ratio != own.ratio)
          throw error(making_distributed_solver, "ranks give different settings of preconditioner chebyshev",
                      "Give all ranks the same");
    });
    setup.make_halo(A.halo(), method->exchanges_two);
    if (method->record_with_transpose) {
      transpose.emplace(A, setup.choice().where);
      setup.make_halo_of_transpose(transpose->halo(), A.columns().rows());
    }
    const bool across = chosen.name == amg_name && ranks.size() > 1 && is_across_ranks(ranks, chosen.options.amg);
    if (chosen.name == amg_name && ranks.size() > 1 && !across) coarse.emplace(setup.exchange(), A);
    ranks.agree(making_distributed_solver, [&] {
      const executor_choice& choice = setup.choice();
      if (choice.where.on_host()) kept = A;
      matrix = matrix_on_place<T>(kept ? kept->local() : A.local(), choice.where, options.check_pointers,
                                  making_distributed_solver);
      if (matrix.request().offsets_64)
        throw error(making_distributed_solver, "a rank has more than 2147483391 nonzeros",
                    "Split the rows among more ranks");
    });
    if (across) of_group = make_amg_across_ranks<T>(setup.exchange(), A, matrix.request(), chosen.options.amg);
    ranks.agree(making_distributed_solver, [&] {
      const executor_choice& choice = setup.choice();
      solve_request<T> request = matrix.request();
      request.columns = A.halo().own;  // of x, a rank has no ghosts
      request.settings = method_settings_of(options);
      request.preconditioner = chosen.kind;
      values_of_M = buffer<const T*>(choice.where, 1, &request.values);
      if (chosen.description && chosen.name != chebyshev_name && !of_group)
        M.emplace(making_distributed_solver, matrix.given(), method->needs, chosen, request);
      linear_solver_options shown = setup.to_run_by(options);
      for (std::vector<double>* const vectors : {&shown.amg.near_null_space, &shown.amg.coordinates}) vectors->clear();
      shown.block_jacobi.offsets.clear();
      solve.emplace(request, recorded(request, *method, chosen, A.partition().first(ranks.rank())), choice.how, shown,
                    began);
      solve->desk().common.preconditioner_choice = words();
    });
  }

  recorded_solve<T> recorded(const solve_request<T>& request, const distributed_method<T>& method,
                             const preconditioner_choice& chosen, index_type first_row) {
    if (transpose) return method.record_with_transpose(request, setup, transpose->rows());
    const constant_slot<const T> values{values_of_M.data()};
    if (chosen.name == chebyshev_name) {
      const chebyshev_options& polynomial = chosen.options.chebyshev;
      words_of_polynomial = chosen.name + ", " + words_of(polynomial);
      return method.record_with_chebyshev(
          request, setup, {polynomial.degree, polynomial.lanczos_steps, ratio_of(polynomial), first_row}, values);
    }
    if (of_group) return method.record_with_parts(request, setup, *of_group);
    if (!coarse) return method.record(request, setup);
    // For the upper 15 sixteenths of the spectrum; the hierarchies of ranks and the coarse space have the others.
    const chebyshev_settings smoother{.degree = 3, .lanczos_steps = 10, .ratio = 16, .first_row = first_row};
    return method.record_with_amg(request, setup, smoother, values, coarse->of_steps());
  }
  std::string words() const {
    if (of_group) return of_group->words();
    if (!M) return words_of_polynomial;
    return M->words() + (coarse ? "; " + coarse->words() : "");
  }
};

template <class T>
distributed_linear_solver<T>::distributed_linear_solver(const distributed_csr_matrix<T>& A,
                                                        linear_solver_options options, double peer_limit_seconds)
    : implementation_("distributed_linear_solver",
                      std::make_unique<implementation>(A, options, peer_limit_seconds, implementation::clock::now())) {}
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
  implementation_->setup.require_all("solving a distributed linear system");
  return ticket(implementation_->solve->solve(b, x)).wait();
}
template <class T>
ticket distributed_linear_solver<T>::enqueue(stream_handle stream, const T* b, T* x) {
  return ticket(implementation_->solve->enqueue(stream, b, x));
}
template <class T>
void distributed_linear_solver<T>::update_values(const distributed_csr_matrix<T>& A) {
  implementation_->setup.ranks().agree("updating the values of a distributed matrix", [&] {
    const auto mine = implementation_->solve->enter("updating a matrix's values");
    implementation_->solve->recorded().wait();
    implementation_->matrix.update_values(A.local().values());
    implementation_->solve->bind_values(implementation_->matrix.request().values);
    implementation_->values_of_M.upload(&implementation_->matrix.request().values);
    if (auto& M = implementation_->M) M->update_values(A.local(), implementation_->matrix.request().values);
    implementation_->solve->desk().note_preconditioner(implementation_->words());
  });
  if (implementation_->transpose) implementation_->transpose->update_values(A);
  if (implementation_->coarse) implementation_->coarse->update_values(A);
  if (implementation_->of_group) implementation_->of_group->update_values(A, implementation_->matrix.request().values);
}
template <class T>
void distributed_linear_solver<T>::set_tolerances(double rtol, double atol) {
  implementation_->solve->set_tolerances(rtol, atol);
}
template <class T>
const std::string& distributed_linear_solver<T>::transport() const {
  return implementation_->setup.exchange().transport();
}
template <class T>
const std::string& distributed_linear_solver<T>::transports_passed_over() const {
  return implementation_->setup.exchange().passed_over();
}
template <class T>
int distributed_linear_solver<T>::lost_rank() const {
  return implementation_->setup.exchange().lost_rank();
}
template <class T>
void distributed_linear_solver<T>::recover() {
  implementation_->setup.recover();
  if (implementation_->coarse) implementation_->coarse->recover();
  if (implementation_->of_group) implementation_->of_group->recover();
}

template class distributed_linear_solver<float>;
template class distributed_linear_solver<double>;

}  // namespace whilst
