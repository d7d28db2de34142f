#include "whilst/linear/program_cache.hpp"

#include "solvers/host/program_pool.hpp"
#include "solvers/linear/automatic/choose_method.hpp"
#include "solvers/linear/deflation/deflation.hpp"
#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/null_space/null_space.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/solve_options.hpp"

namespace whilst {
namespace {

/// What a recorded linear solver depends on.
template <class T>
struct linear_solver_key {
  csr_matrix<T> A;                ///< only its pattern counts
  linear_solver_options options;  ///< with "auto" and -1 replaced by the executor and the device chosen

  linear_solver_key(const csr_matrix<T>& matrix, const linear_solver_options& asked, const executor_choice& choice)
      : A(matrix), options(asked) {
    // Options passed to each launch. A new option is part of the key until it is named here.
    const linear_solver_options usual;
    options.rtol = usual.rtol;
    options.atol = usual.atol;
    options.dtol = usual.dtol;
    options.max_iterations = usual.max_iterations;
    options.deadline = usual.deadline;
    // Asked for by name, resident would rule out methods that "auto" may need.
    if (asked.method != automatic_method || choice.how != executor::resident) options.executor = name(choice.how);
    options.device = choice.where.on_host() ? -1 : choice.where.device();
  }

  bool operator==(const linear_solver_key& other) const {
    return options == other.options && A.has_pattern_of(other.A);
  }

  std::string in_words() const {
    return options.method + ", " + options.preconditioner + ", " + (sizeof(T) == 4 ? "float" : "double") + ", " +
           options.executor + (options.device < 0 ? "" : " on GPU " + std::to_string(options.device)) + ", " +
           std::to_string(A.rows()) + " rows, " + std::to_string(A.nonzeros()) + " nonzeros";
  }
};

}  // namespace

program_cache::program_cache(cache_limits limits) : pool_(std::make_shared<detail::program_pool>(cache_limits{})) {
  set_limits(limits);
}
program_cache::~program_cache() = default;

template <class T>
lease<linear_solver<T>> program_cache::borrow(const csr_matrix<T>& given, const linear_solver_options& options) {
  check_options("borrowing a linear solver", options);
  const csr_matrix<T> A = given.owned();  // what is kept outlives this call
  kernel_abilities in_kernel = options.method == automatic_method
                                   ? in_kernel_of_automatic
                                   : method_from_name<T>("borrowing a linear solver", options.method).in_kernel;
  // Preconditioner "auto" is the diagonal in a kernel.
  const bool is_diagonal = options.executor == "resident" && options.preconditioner == automatic_preconditioner;
  if ((is_preconditioner_in_parts(options) && !is_diagonal) || !is_format_for_kernels(options.format) ||
      has_null_space(options) || has_deflation(options) || changes_matrix<T>(options))
    in_kernel = {};
  const linear_solver_key<T> key(
      A, options, choose_executor(wish_of(options), A.rows(), A.is_on_device(), in_kernel, A.nonzeros()));
  // It captures no key: in a unity build GCC warns of a closure whose field is of a local type.
  lease<linear_solver<T>> solver = borrow(key, [&A, &asked = key.options] { return linear_solver<T>(A, asked); });
  solver->set_tolerances(options.rtol, options.atol);
  solver->set_divergence(options.dtol);
  solver->set_max_iterations(options.max_iterations);
  solver->set_deadline(options.deadline);
  solver->update_values(A);
  solver->set_monitor({});  // the previous borrower's
  return solver;
}

template lease<linear_solver<float>> program_cache::borrow(const csr_matrix<float>&, const linear_solver_options&);
template lease<linear_solver<double>> program_cache::borrow(const csr_matrix<double>&, const linear_solver_options&);

cache_limits program_cache::limits() const { return pool_->limits(); }
void program_cache::set_limits(cache_limits limits) { pool_->set_limits(limits); }
cache_counters program_cache::counters() const { return pool_->counters(); }
std::string program_cache::describe() const { return pool_->describe(); }
void program_cache::reset() { pool_->reset(); }

program_cache& default_cache() {
  static auto& the_cache = *new program_cache;
  return the_cache;
}

void reset() { default_cache().reset(); }

}  // namespace whilst
