#include "report_json.hpp"

#include <cstdio>

#include "whilst/version.hpp"

namespace whilst::command {

json history_json(const std::vector<history_record>& history) {
  json iterations = json::array(), norms = json::array();
  for (const auto& record : history) {
    iterations.push_back(record.iteration);
    norms.push_back(record.residual_norm);
  }
  return {{"iterations", std::move(iterations)}, {"residual_norms", std::move(norms)}};
}

json report_json(const report& result) {
  json document;
  document["method"] = result.method();
  document["preconditioner"] = result.preconditioner();
  document["executor"] = result.executor();
  document["precision"] = result.precision();
  document["n"] = result.rows();
  document["nnz"] = result.nonzeros();
  document["iterations"] = result.iterations();
  document["reason"] = name(result.reason());
  document["converged"] = result.converged();
  document["relative_residual"] = result.relative_residual();
  document["rhs_norm"] = result.rhs_norm();
  document["setup_seconds"] = result.setup_seconds();
  document["solve_seconds"] = result.solve_seconds();
  document["seconds_per_iteration"] = result.seconds_per_iteration();
  document["device"] = result.device();
  document["version"] = version;
  document["message"] = result.message();
  document["note"] = result.note();
  return document;
}

json machine_json(const machine_description& machine) {
  json document;
  document["version"] = version;
  document["processor"] = machine.processor;
  document["threads"] = machine.threads;
  document["cuda_build"] = machine.cuda_build;
  document["toolkit_version"] = machine.toolkit_version;
  document["driver"] = machine.driver_release;
  document["driver_cuda_version"] = machine.driver_version;
  document["device_count"] = machine.device_count;
  document["device"] = machine.device;
  document["compute_capability"] = {machine.compute_major, machine.compute_minor};
  document["conditional_nodes"] = machine.conditional_nodes;
  document["conditional_nodes_note"] = machine.conditional_nodes_note;
  document["executors"] = json::array();
  for (const auto& executor : machine.executors) {
    document["executors"].push_back(
        {{"name", executor.name}, {"available", executor.available}, {"why_not", executor.why_not}});
  }
  return document;
}

json_destination::json_destination(const std::string& path) {
  if (path == "-") {
    to_standard_output_ = true;
  } else {
    file_ = output_file("--json", path);
  }
}

void json_destination::write(const json& document) const {
  if (!wanted()) return;
  // Paths need not be UTF-8: what is not is replaced, rather than the report lost.
  const std::string text = document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  if (to_standard_output_) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    file_.write(text);
  }
}

}  // namespace whilst::command
