#include <chrono>
#include <numbers>

#include "stepper.hpp"

namespace whilst::heat_steps {
namespace {

class host_stepper final : public stepper {
 public:
  host_stepper(const plate& p, const std::string& preconditioner)
      : plate_(p),
        options_(solver_options("host", preconditioner)),
        rows_(matrix_of(p)),
        matrix_(csr_matrix<double>::borrow(p.points(), p.points(), rows_.offsets, rows_.columns, rows_.values)),
        solver_(matrix_, options_),
        before_(rows_.offsets.size() - 1),
        b_(before_.size()) {}

  std::vector<way> ways() const override { return {way::plain, way::anew}; }

  made_run run(way how, const run_state& begin) override {
    made_run result{.end = begin, .u = start_of(plate_)};
    const fields at{result.u.data(), before_.data(), b_.data(), &result.end, rows_.offsets.data(), rows_.values.data()};
    solver_.refresh_preconditioner();  // a lagged one may be from a later step
    const auto began = std::chrono::steady_clock::now();
    for (bool again = true; again;) {
      for (index_type i = 0; i < plate_.points(); ++i) begin_step(plate_, at, i);
      const report solved =
          how == way::anew ? linear_solver<double>(matrix_, options_).solve(b_, result.u) : solver_.solve(b_, result.u);
      double sum = 0;
      for (index_type i = 0; i < plate_.points(); ++i) sum += squared_change(at, i);
      again = end_step(plate_, result.end, sum, {.iterations = solved.iterations(), .why = solved.reason()});
      result.last_solve = solved.message();
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
  }

 private:
  plate plate_;
  linear_solver_options options_;
  stored_rows rows_;
  csr_matrix<double> matrix_;  ///< these, read where they lie
  linear_solver<double> solver_;
  std::vector<double> before_, b_;
};

}  // namespace

std::unique_ptr<stepper> make_host_stepper(const plate& p, const std::string& preconditioner) {
  return std::make_unique<host_stepper>(p, preconditioner);
}

std::string_view name(way how) {
  constexpr std::string_view names[] = {"plain", "step", "whole", "anew"};
  return names[static_cast<int>(how)];
}
std::string_view name(ending why) {
  constexpr std::string_view names[] = {"running", "steady", "all_steps", "failed_solve"};
  return names[static_cast<int>(why)];
}

std::vector<double> start_of(const plate& p) {
  std::vector<double> u(static_cast<std::size_t>(p.points()));
  for (index_type i = 0; i < p.points(); ++i)
    u[static_cast<std::size_t>(i)] = std::sin(std::numbers::pi * p.x(i)) * std::sin(std::numbers::pi * p.y(i));
  return u;
}

stored_rows matrix_of(const plate& p) {
  const std::vector<double> u = start_of(p);
  stored_rows made;
  made.offsets.push_back(0);
  for (index_type i = 0; i < p.points(); ++i) {
    p.for_each_entry(u.data(), i, [&](index_type column, double value) {
      made.columns.push_back(static_cast<std::int32_t>(column));
      made.values.push_back(value);
    });
    made.offsets.push_back(static_cast<std::int32_t>(made.columns.size()));
  }
  return made;
}

linear_solver_options solver_options(const std::string& executor, const std::string& preconditioner) {
  constexpr index_type most_iterations = 100'000;  // Jacobi takes some 10 000 for 3000 cells along an edge
  return {.method = "cg",
          .preconditioner = preconditioner,
          .rtol = 1e-10,
          .max_iterations = most_iterations,
          .executor = executor};
}

}  // namespace whilst::heat_steps
