#include "benchmarks/whilst-bench/results_file.hpp"

#include <fstream>
#include <iostream>

#include "benchmarks/common/measured_at.hpp"
#include "whilst/error.hpp"
#include "whilst/machine.hpp"
#include "whilst/version.hpp"

namespace whilst_bench {

nlohmann::ordered_json results_document(nlohmann::ordered_json head, std::string_view list,
                                        const nlohmann::ordered_json& entries) {
  const whilst::measured_at measured = whilst::measured_now();
  head["version"] = whilst::version;
  head["commit"] = measured.commit;
  head["date"] = measured.date;
  const whilst::machine_description machine = whilst::describe_machine();
  head["machine"] = {{"processor", machine.processor},
                     {"threads", machine.threads},
                     {"device", machine.device},
                     {"driver", machine.driver_release},
                     {"toolkit_version", machine.toolkit_version}};
  head[std::string(list)] = entries;
  return head;
}

void write_results(const std::string& path, nlohmann::ordered_json head, std::string_view list,
                   const nlohmann::ordered_json& entries) {
  if (path.empty()) return;
  head = results_document(std::move(head), list, entries);
  if (path == "-") {
    std::cout << head.dump(2) << '\n';
    return;
  }
  std::ofstream file(path);
  file << head.dump(2) << '\n';
  if (!file.flush()) throw whilst::error("writing '" + path + "'", "the file cannot be written", "Name another one");
}

}  // namespace whilst_bench
