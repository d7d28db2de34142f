#include "whilst/host/batch_report.hpp"

#include <utility>

#include "whilst/basics/error.hpp"

namespace whilst {

batch_report::batch_report(batch_report_fields fields) : fields_(std::move(fields)) {
  const auto is_worse = [](const system_outcome& one, const system_outcome& other) {
    if (one.converged() != other.converged()) return other.converged();
    const double a = one.relative_residual(), b = other.relative_residual();
    return a > b || (a != a && b == b);
  };
  for (index_type k = 0; k < size(); ++k) {
    const system_outcome& system = fields_.systems[static_cast<std::size_t>(k)];
    number_converged_ += system.converged();
    if (is_worse(system, fields_.systems[static_cast<std::size_t>(worst_)])) worst_ = k;
  }
}

const system_outcome& batch_report::operator[](index_type k) const {
  if (k < 0 || k >= size())
    throw error("looking up a system of a batch",
                "there is no system " + std::to_string(k) + " among " + std::to_string(size()), "Systems count from 0");
  return fields_.systems[static_cast<std::size_t>(k)];
}

std::string batch_report::message() const {
  std::string text = std::to_string(number_converged_) + " of " + std::to_string(size()) + " systems converged";
  if (size() == 0) return text;
  const system_outcome& system = (*this)[worst_];
  report_fields worst;
  worst.reason = system.reason;
  worst.iterations = system.iterations;
  worst.residual_norm = system.residual_norm;
  worst.rhs_norm = system.rhs_norm;
  return text + "; the worst, system " + std::to_string(worst_) + ": " + report(std::move(worst)).message();
}

}  // namespace whilst
