#include "solvers/linear/columns/preconditioner_of_columns.hpp"

#include "solvers/linear/automatic/choose_method.hpp"
#include "solvers/linear/automatic/solver_pairs.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

/// Of LOBPCG, too.
constexpr method_needs needs_of_columns{.symmetric = true, .definite = true};

}  // namespace

columns_obstacle obstacle_for_columns(const preconditioner_choice& chosen) {
  if (!chosen.description) return {};
  const std::string preconditioner = "preconditioner " + chosen.name;
  if (const char* const other = chosen.description->symmetric_instead)
    return {preconditioner + " is not symmetric, and several columns at once need one that is",
            "Use " + std::string(other)};
  if (chosen.name == "solve")
    return {preconditioner + " is another M in each iteration, and several columns at once need a fixed one",
            "Name another one, as amg"};
  if (chosen.name != "amg") return {};
  const amg_options& amg = chosen.options.amg;
  if (amg.cycle == "K" || amg.cycle == "F")
    return {"with cycle " + amg.cycle +
                " amg is not symmetric or not linear, and several columns at once need an M that is both",
            "Use cycle V or W"};
  if (amg.refresh == "lagged")
    return {"refresh lagged of amg goes by the iterations of one right-hand side", "Use refresh=changed"};
  return {};
}

template <class T>
void preconditioner_of_columns<T>::choose(std::string_view doing, const linear_solver_options& options,
                                          const matrix_on_place<T>& matrix, solve_request<T>& request) {
  chosen_ = chosen_preconditioner(doing, options);
  if (options.preconditioner == automatic_preconditioner) {
    choose_automatically(doing, options, matrix, request);
  } else {
    make(doing, {request, &matrix.given(), request.values}, request);
  }
}

template <class T>
void preconditioner_of_columns<T>::make(std::string_view doing, const matrix_to_precondition<T>& matrix,
                                        solve_request<T>& request) {
  if (chosen_.description) {
    if (const columns_obstacle obstacle = obstacle_for_columns(chosen_); !obstacle.why.empty())
      throw error(doing, obstacle.why, obstacle.cure);
    matrix_preconditioner<T>& made = made_.made(matrix, needs_of_columns, chosen_);
    request.preconditioner_parts = &made;
    description_ = made.description();
  }
  request.preconditioner = chosen_.kind;
}

template <class T>
void preconditioner_of_columns<T>::choose_automatically(std::string_view doing, const linear_solver_options& options,
                                                        const matrix_on_place<T>& matrix, solve_request<T>& request) {
  const csr_matrix<T>& given = matrix.given();
  const csr_matrix<T> on_host =
      given.is_on_device() ? copied_to_host(given, given.values_data(), request.where) : given;
  matrix_traits A = traits_of<T>(on_host, on_host.values());
  A.knows_nodes = options.amg.unknowns_a_node > 1 || !options.amg.near_null_space.empty();
  std::string skipped;
  for (const solver_attempt& attempt : attempts_for(A, "cg", needs_of_columns)) {
    linear_solver_options one = options;
    one.preconditioner = attempt.pair.preconditioner;
    one.ilu = {};  // what is chosen has settings of its own
    if (why_.empty()) why_ = attempt.why;
    try {
      chosen_ = chosen_preconditioner(doing, one);
      make(doing, {request, &given, request.values, true, nullptr, /*is_bounded_once=*/true}, request);
      why_ += skipped;
      return;
    } catch (const error& problem) {
      skipped += "; not " + one.preconditioner + ": " + problem.what();
    }
  }
  throw error(doing, "no preconditioner can be made" + skipped, "Name one");
}

template <class T>
bool preconditioner_of_columns<T>::values_changed(const csr_matrix<T>& pattern, const T* values) {
  if (!chosen_.description || !chosen_.description->hears_of_values) return false;
  made_.note_new_values();
  description_ = made_.refresh(chosen_.text, pattern, values);
  return true;
}

template <class T>
std::string preconditioner_of_columns<T>::words() const {
  if (description_.empty() && why_.empty()) return "";
  return chosen_.name + (description_.empty() ? "" : ", " + description_) + (why_.empty() ? "" : "; " + why_);
}

template <class T>
void preconditioner_of_columns<T>::add_to(memory_table& table, place where) const {
  if (bytes() == 0) return;
  table.items.insert(table.items.begin(), {.name = chosen_.description->contents + (" " + chosen_.name),
                                           .where = name_of(where),
                                           .bytes = static_cast<std::size_t>(bytes())});
}

template class preconditioner_of_columns<float>;
template class preconditioner_of_columns<double>;

}  // namespace whilst
