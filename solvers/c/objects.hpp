#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "solvers/c/handles.hpp"
#include "whilst/engine/memory/memory_table.hpp"
#include "whilst/host/replayed_solver.hpp"
#include "whilst/host/report.hpp"
#include "whilst/linear/csr_matrix.hpp"

/// What lies behind the handles of the C interface.
namespace whilst::c {

struct matrix_content {
  std::variant<csr_matrix<float>, csr_matrix<double>> matrix;
};

struct column_outcome {
  int reason;
  index_type iterations;
  double relative_residual;
};

/// Any report, flat.
struct report_content {
  report_fields fields;
  std::string message;
  bool converged = false;
  double relative_residual = 0, value = 0, evaluations = 0;  // the last two NaN where there are none
  std::vector<double> eigenvalues, eigenvalue_residuals;
  std::vector<column_outcome> columns;
};

class any_solver;

struct ticket_content {
  std::function<report_content()> wait;
  std::function<bool()> done;
  std::function<void()> cancel;
  std::weak_ptr<any_solver> solver{};  ///< kept while one of these runs, though another thread destroys its handle
};

/// A vector as a caller gives it: numbers of the solver's type.
struct given_vector {
  const char* name;
  const void* data;
  index_type length;
};

/// A solver of any kind and number type. What a kind lacks, it refuses.
class any_solver {
 public:
  virtual ~any_solver() = default;
  virtual report_content solve(given_vector b, given_vector x) = 0;
  virtual ticket_content enqueue(stream_handle stream, const void* b, void* x) = 0;
  virtual void update_values(given_vector values);
  virtual void bind_values(const void* values);
  virtual void set_tolerances(double rtol, double atol) = 0;
  virtual recorded_solver& recorded() = 0;
  virtual replayed_solver& replayed();
  virtual memory_table memory() const = 0;
  virtual std::string explain() const = 0;
  // Of several ranks.
  virtual std::string transport() const;
  virtual int lost_rank() const;
  virtual void recover();
};

/// The parts that all solvers have in the same form. Solver is one of the library's, with a number type.
template <class Solver>
class solver_of : public any_solver {
 public:
  explicit solver_of(Solver solver) : solver_(std::move(solver)) {}
  recorded_solver& recorded() override { return solver_; }
  replayed_solver& replayed() override {
    if constexpr (std::is_base_of_v<replayed_solver, Solver>)
      return solver_;
    else
      return any_solver::replayed();
  }
  memory_table memory() const override { return solver_.memory(); }
  std::string explain() const override { return solver_.explain(); }

 protected:
  Solver solver_;
};

/// The same of a solver of several ranks.
template <class Solver>
class solver_of_ranks : public solver_of<Solver> {
 public:
  using solver_of<Solver>::solver_of;
  std::string transport() const override { return this->solver_.transport(); }
  int lost_rank() const override { return this->solver_.lost_rank(); }
  void recover() override { this->solver_.recover(); }
};

/// Throws whilst::error where a vector is NULL or has another length than `expected`.
void check_length(const given_vector& vector, index_type expected);
/// Throws where there is a b, which such solvers do not have.
void check_no_b(const given_vector& b);

/// The entries of a vector after that check.
template <class T>
std::span<const T> entries(const given_vector& vector, index_type expected) {
  check_length(vector, expected);
  return {static_cast<const T*>(vector.data), static_cast<std::size_t>(expected)};
}
/// The same of one that the caller gave to be written to.
template <class T>
std::span<T> writable_entries(const given_vector& vector, index_type expected) {
  check_length(vector, expected);
  return {static_cast<T*>(const_cast<void*>(vector.data)), static_cast<std::size_t>(expected)};
}

/// Gives the caller a handle for a new solver.
void make_solver_handle(whilst_solver** handle, std::shared_ptr<any_solver> solver);
/// Gives the caller one for a report, unless he wants none.
void make_report_handle(whilst_report** handle, report_content report);

/// Throws where a callback returned another number than 0.
void check_callback(const char* name, int returned);
/// Whether callbacks work in host memory; throws on what is neither WHILST_HOST nor WHILST_DEVICE.
bool is_host(whilst_memory memory);

}  // namespace whilst::c
