#include <chrono>
#include <numbers>

#include "stepper.hpp"

namespace whilst::heat_steps {
namespace {

class host_stepper final : public stepper {
 public:
  explicit host_stepper(const plate& p)
      : plate_(p), solver_(matrix_of(p), solver_options("host")), before_(start_of(p).size()), b_(before_.size()) {}

  std::vector<way> ways() const override { return {way::plain}; }

  made_run run(way, const run_state& begin) override {
    made_run result{.end = begin, .u = start_of(plate_)};
    const fields at{result.u.data(), before_.data(), b_.data(), &result.end};
    const auto began = std::chrono::steady_clock::now();
    for (bool again = true; again;) {
      for (index_type i = 0; i < plate_.points(); ++i) begin_step(plate_, at, i);
      const report solved = solver_.solve(b_, result.u);
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
  linear_solver<double> solver_;
  std::vector<double> before_, b_;
};

}  // namespace

std::unique_ptr<stepper> make_host_stepper(const plate& p) { return std::make_unique<host_stepper>(p); }

std::string_view name(way how) { return how == way::plain ? "plain" : how == way::step ? "step" : "whole"; }
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

csr_matrix<double> matrix_of(const plate& p) {
  const index_type m = p.cells - 1;
  const double coupling = p.time_step * static_cast<double>(p.cells * p.cells);
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<double> values;
  const auto put = [&](bool inside, index_type column, double value) {
    if (!inside) return;  // the edge is 0
    columns.push_back(static_cast<std::int32_t>(column));
    values.push_back(value);
  };
  for (index_type i = 0; i < m * m; ++i) {
    put(i / m > 0, i - m, -coupling);
    put(i % m > 0, i - 1, -coupling);
    put(true, i, 1 + 4 * coupling);
    put(i % m < m - 1, i + 1, -coupling);
    put(i / m < m - 1, i + m, -coupling);
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
  return csr_matrix<double>::adopt(m * m, m * m, std::move(offsets), std::move(columns), std::move(values));
}

linear_solver_options solver_options(const std::string& executor) {
  return {.method = "cg", .preconditioner = "jacobi", .rtol = 1e-10, .executor = executor};
}

}  // namespace whilst::heat_steps
