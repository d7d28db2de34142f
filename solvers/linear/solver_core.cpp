#include "solvers/linear/solver_core.hpp"

#include <limits>

#include "solvers/linear/null_space/in_complement.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "solvers/linear/solver_refusals.hpp"
#include "whilst/basics/safe_norm.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

std::string words_of(const preconditioner_choice& of, const std::string& made_M) { return of.name + ", " + made_M; }

}  // namespace

template <class T>
bool solver_core<T>::is_named() const {
  return options.method != automatic_method;
}

template <class T>
void solver_core<T>::record(const linear_method<T>* named, const T* values, clock::time_point began) {
  if (named && !chooses_M) {
    solve.emplace(recorded(*named, chosen_M, began));
    return;
  }
  const auto make = [this](const solver_pair& pair) -> std::unique_ptr<prepared_solve<T>> {
    const linear_method<T>& wanted = method_from_name<T>(making_linear_solver, pair.method);
    if (only_in_kernel && !wanted.in_kernel.runs) return nullptr;
    return recorded(wanted, chooses_M ? choice_of(pair) : chosen_M, clock::now());
  };
  if (chooses_M) {
    const auto refresh = [this](const solver_pair& pair) {
      const std::string words = made_Ms.refresh(pair.preconditioner, matrix.given(), current_values());
      return words.empty() ? words : words_of(choice_of(pair), words);
    };
    const auto hidden = [this](std::span<const T> x, double tolerance) { return may_be_hidden(x, tolerance); };
    const auto checked = [this](std::span<const T> b, std::span<const T> x, std::vector<T>& r) {
      return check(b, x, r);
    };
    std::vector<solver_attempt> attempts =
        with_values(values, [this](const auto&... of_matrix) { return attempts_of(of_matrix...); });
    solve.emplace(make, typename prepared_methods<T>::matrix_hooks{refresh, hidden, checked, &until},
                  std::move(attempts));
  } else {
    solve.emplace(make,
                  values ? with_values(values, [this](const auto&... of_matrix) { return choice_for(of_matrix...); })
                         : choose_method_unseen(),
                  chosen_M.text);
  }
  solve->chosen().desk().common.setup_seconds = std::chrono::duration<double>(clock::now() - began).count();
}
template <class T>
void solver_core<T>::note_choice(const method_choice& choice) {
  solve->chosen().desk().common.choice = std::string(choice.method) + ", " + choice.why;
}

template <class T>
preconditioner_choice solver_core<T>::choice_of(const solver_pair& pair) const {
  linear_solver_options asked = options;
  asked.preconditioner = pair.preconditioner;
  return chosen_preconditioner(making_linear_solver, asked);
}

template <class T>
bool solver_core<T>::may_be_hidden(std::span<const T> x, double tolerance) const {
  if (has_null_space(options)) return false;  // the residual is that of another system
  if (matrix.where().on_host()) return true;
  double norm_of_x = 0;
  for (const T one : x) norm_of_x = length_of(norm_of_x, static_cast<double>(one));
  const double rounding = static_cast<double>(std::numeric_limits<T>::epsilon()) * size_of_A * norm_of_x;
  return norm_of_x != 0 && !(rounding <= 0.1 * tolerance);
}
template <class T>
checked_residual solver_core<T>::check(std::span<const T> b, std::span<const T> x, std::vector<T>& r) const {
  if (matrix.where().on_host()) return extended_residual(matrix.given(), current_values(), b, x, r);
  const csr_matrix<T> copy = copied_to_host(matrix.given(), current_values(), matrix.where());
  return extended_residual(copy, copy.values_data(), b, x, r);
}

template <class T>
std::unique_ptr<prepared_solve<T>> solver_core<T>::recorded(const linear_method<T>& method,
                                                            const preconditioner_choice& of_M,
                                                            clock::time_point began) {
  solve_request<T> request = parts ? solve_request<T>() : matrix.request(method.needs.transpose);
  linear_solver_options shown = options;
  shown.method = method.name;
  shown.preconditioner = chooses_M ? of_M.text : options.preconditioner;
  if (parts) {
    request.where = parts->where();
    request.rows = parts->rows();
    request.columns = parts->columns();
    request.parts = parts.get();
  }
  request.preconditioner = M ? preconditioner_kind::parts : of_M.kind;
  if (M) shown.preconditioner = "user";
  matrix_preconditioner<T>* made_M = nullptr;
  if (!M && of_M.description) {
    if (const permuted_matrix<T>* const B = parts ? nullptr : matrix.permuted()) {
      const std::vector<T> values = with_values(
          current_values(), [&](const auto&, std::span<const T> of_A) { return B->values_from(of_A.data()); });
      made_M = &made_Ms.made({.on_place = B->request(),
                              .pattern = &B->pattern(),
                              .values = values.data(),
                              .is_bounded = chooses_M,
                              .until = &until,
                              .may_go_on = true},
                             method.needs, of_M);
      request.values_of_M = B->values();
    } else {
      made_M = &made_Ms.made({.on_place = request,
                              .pattern = parts ? nullptr : &matrix.given(),
                              .values = parts ? nullptr : current_values(),
                              .is_bounded = chooses_M,
                              .until = &until,
                              .may_go_on = true},
                             method.needs, of_M);
    }
  }
  request.preconditioner_parts = M ? M.get() : made_M;
  request.settings = method_settings_of(options);
  shown.amg.near_null_space.clear();
  shown.amg.coordinates.clear();
  shown.block_jacobi.offsets.clear();
  std::unique_ptr<preconditioner<T>> deflated;
  if (has_deflation(options)) {
    if (!deflation) deflation = make_deflation<T>(making_linear_solver, options, request.where, request.rows);
    deflated = deflation->put_into(request, method.needs);
    shown.deflation.clear();
  }
  std::unique_ptr<in_complement<T>> complement;
  if (has_null_space(options)) {
    if (!null_space) null_space.emplace(making_linear_solver, options, request.where, request.rows);
    complement = make_in_complement<T>(*null_space, method.needs.definite_preconditioner);
    complement->put_into(request);
    shown.null_space_vectors.clear();
  }
  // Where "auto" took resident, it did for the method to begin with.
  request.in_kernel = how == whilst::executor::resident && method.in_kernel.runs &&
                      (only_in_kernel || is_named() ||
                       is_fast_in_kernel(request.where, request.rows, request.nonzeros, method.in_kernel));
  const whilst::executor runs = how == whilst::executor::resident && !request.in_kernel ? whilst::executor::graph : how;
  auto made = std::make_unique<prepared_solve<T>>(request, method.record(request), runs, shown, began);
  if (made_M) {
    made_M->finish();
    made_Ms.note_program();
  }
  report_fields& told = made->desk().common;
  told.setup_seconds = std::chrono::duration<double>(clock::now() - began).count();
  const format_choice& format = matrix.format();
  told.format = format.format;
  if (!format.why.empty()) told.format_choice = format.format + ", " + format.why;
  if (made_M) told.preconditioner_choice = words_of(of_M, made_M->description());
  return made;
}

template <class T>
std::string solver_core<T>::refreshed(const std::string& text, const csr_matrix<T>& pattern, const T* values) {
  const permuted_matrix<T>* const B = matrix.permuted();
  if (!B) return made_Ms.refresh(text, pattern, values);
  return with_values(values, [&](const auto&, std::span<const T> of_A) {
    return made_Ms.refresh(text, B->pattern(), B->values_from(of_A.data()).data());
  });
}
template <class T>
void solver_core<T>::tell_of_values(const csr_matrix<T>& pattern, const T* values) {
  made_Ms.note_new_values();
  if (chooses_M || !chosen_M.description || !chosen_M.description->hears_of_values) return;
  solve->wait();
  solve->note_preconditioner(words_of(chosen_M, refreshed(chosen_M.text, pattern, values)));
}

template <class T>
template <class F>
auto solver_core<T>::with_values(const T* values, F f) const {
  const csr_matrix<T>& A = matrix.given();
  // A solver on a GPU has copies there of what a matrix in host memory was given with, and later values alone.
  if (matrix.where().on_host() || (!A.is_on_device() && values == A.values_data()))
    return f(A, std::span<const T>(values, static_cast<std::size_t>(A.nonzeros())));
  const csr_matrix<T> copy = copied_to_host(A, values, matrix.where());
  return f(copy, copy.values());
}
template <class T>
std::vector<solver_attempt> solver_core<T>::attempts_of(const csr_matrix<T>& pattern, std::span<const T> values) {
  matrix_traits A = traits_of<T>(pattern, values);
  // Whoever lent the values may change them in place.
  size_of_A = matrix.given().is_borrowed() ? HUGE_VAL : A.size;
  A.knows_nodes = options.amg.unknowns_a_node > 1 || !options.amg.near_null_space.empty();
  A.wants_flexible = options.amg.cycle == "K" || options.amg.cycle == "F";
  if (!is_named()) return attempts_for(A, {}, {});
  return attempts_for(A, options.method, method_from_name<T>(making_linear_solver, options.method).needs);
}
template <class T>
method_choice solver_core<T>::choice_for(const csr_matrix<T>& pattern, std::span<const T> values) const {
  const method_choice choice = choose_method(pattern, values);
  if (!method_from_name<T>(making_linear_solver, choice.method).needs.symmetric) return choice;
  if (has_matching(options)) return {"bicgstab", "since a matching destroys symmetry"};
  return options.scaling == "rows" ? method_choice{"bicgstab", "since scaling rows destroys symmetry"} : choice;
}

template <class T>
void solver_core<T>::choose_again(const T* values) {
  if (!solve->is_automatic()) return;
  with_values(values, [this](const csr_matrix<T>& pattern, std::span<const T> entries) {
    if (chooses_M) {
      solve->wait();
      solve->choose(attempts_of(pattern, entries));
    } else {
      solve->choose(choice_for(pattern, entries));
    }
  });
}
template <class T>
void solver_core<T>::choose_again(const csr_matrix<T>& A) {
  if (!solve->is_automatic()) return;
  const csr_matrix<T> on_host = A.is_on_device() ? copied_to_host(A, A.values_data(), matrix.where()) : A;
  if (chooses_M) {
    solve->wait();
    solve->choose(attempts_of(on_host, on_host.values()));
    if (A.is_borrowed()) size_of_A = HUGE_VAL;
  } else {
    solve->choose(choice_for(on_host, on_host.values()));
  }
}
template <class T>
void solver_core<T>::keep_choice() {
  if (!chooses_M) return;
  size_of_A = HUGE_VAL;
  solve->wait();
  solve->choose_again();
}

template struct solver_core<float>;
template struct solver_core<double>;

}  // namespace whilst
