#include "python/src/reports.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "python/src/callbacks.hpp"

namespace whilst::python {

void bind_reports(nb::module_& module) {
  nb::class_<report>(module, "Report").def("fields", [](const report& self) { return fields_of(self); });
}

nb::dict fields_of(const report& done) {
  std::vector<std::int64_t> iterations;
  std::vector<double> norms;
  for (const history_record& record : done.history()) {
    iterations.push_back(record.iteration);
    norms.push_back(record.residual_norm);
  }
  const auto text = [](std::string_view from) { return nb::str(from.data(), from.size()); };

  nb::dict fields;
  fields["converged"] = done.converged();
  fields["reason"] = text(name(done.reason()));
  fields["reason_code"] = static_cast<int>(done.reason());
  fields["message"] = text(done.message());
  fields["iterations"] = done.iterations();
  fields["residual_norm"] = done.residual_norm();
  fields["relative_residual"] = done.relative_residual();
  fields["rhs_norm"] = done.rhs_norm();
  fields["normal_residual_norm"] = done.normal_residual_norm();
  fields["removed_norm"] = done.removed_norm();
  fields["setup_seconds"] = done.setup_seconds();
  fields["solve_seconds"] = done.solve_seconds();
  fields["loop_seconds"] = done.loop_seconds();
  fields["seconds_per_iteration"] = done.seconds_per_iteration();
  fields["method"] = text(done.method());
  fields["preconditioner"] = text(done.preconditioner());
  fields["executor"] = text(done.executor());
  fields["precision"] = text(done.precision());
  fields["device"] = text(done.device());
  fields["note"] = text(done.note());
  fields["choice"] = text(done.choice());
  fields["format"] = text(done.format());
  fields["format_choice"] = text(done.format_choice());
  fields["preconditioner_choice"] = text(done.preconditioner_choice());
  fields["rows"] = done.rows();
  fields["nonzeros"] = done.nonzeros();
  fields["history_iterations"] = array_of(iterations.data(), iterations.size());
  fields["history"] = array_of(norms.data(), norms.size());
  return fields;
}

namespace {
nb::dict fields_of_descent(const descent_report& done, const std::string& message) {
  nb::dict fields = fields_of(static_cast<const report&>(done));
  fields["message"] = nb::str(message.data(), message.size());
  fields["evaluations"] = done.evaluations;
  return fields;
}
}  // namespace

nb::dict fields_of(const minimize_report& done) {
  nb::dict fields = fields_of_descent(done, done.message());
  fields["value"] = done.value;
  return fields;
}
nb::dict fields_of(const nonlinear_report& done) { return fields_of_descent(done, done.message()); }

}  // namespace whilst::python
