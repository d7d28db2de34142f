#include "apps/common/report_json.hpp"

#include "whilst/version.hpp"

namespace whilst::command {

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
  if (result.normal_residual_norm() > 0) document["normal_residual_norm"] = result.normal_residual_norm();
  if (result.removed_norm() > 0) document["removed_norm"] = result.removed_norm();
  document["setup_seconds"] = result.setup_seconds();
  document["solve_seconds"] = result.solve_seconds();
  document["seconds_per_iteration"] = result.seconds_per_iteration();
  document["device"] = result.device();
  document["version"] = version;
  document["message"] = result.message();
  document["note"] = result.note();
  if (!result.choice().empty()) document["choice"] = result.choice();
  if (!result.format().empty()) document["format"] = result.format();
  if (!result.format_choice().empty()) document["format_choice"] = result.format_choice();
  if (!result.preconditioner_choice().empty()) document["preconditioner_choice"] = result.preconditioner_choice();
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
  document["device_uuid"] = machine.device_uuid;
  document["compute_capability"] = {machine.compute_major, machine.compute_minor};
  document["conditional_nodes"] = machine.conditional_nodes;
  document["conditional_nodes_note"] = machine.conditional_nodes_note;
  const auto available = [](const std::vector<executor_availability>& all) {
    json list = json::array();
    for (const auto& one : all)
      list.push_back({{"name", one.name}, {"available", one.available}, {"why_not", one.why_not}});
    return list;
  };
  document["executors"] = available(machine.executors);
  document["transports"] = available(machine.transports);
  document["peers"] = machine.peers;
  return document;
}

}  // namespace whilst::command
