#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/apps/json_schema.hpp"
#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"

namespace whilst_test {

/// What `whilst-bench SUITE` with these arguments reports from the host; it keeps to the suite's schema. For tests that
/// are told WHILST_SOURCE_FOLDER.
inline nlohmann::json bench_report(const std::string& suite, const strings& arguments, int expected_status) {
  using nlohmann::json;
  const outcome result =
      run_program(program_path("whilst-bench"), with(with({suite}, arguments), {"--executor", "host", "--json", "-"}));
  INFO(result.out << result.err);
  REQUIRE(result.status == expected_status);
  const json report = json::parse(result.out);
  const json schema = json::parse(text_of(WHILST_SOURCE_FOLDER "/docs/schemas/whilst-bench-" + suite + ".json"));
  const strings faults = schema_faults(report, schema, schema);
  INFO((faults.empty() ? "" : faults[0]));
  CHECK(faults.empty());
  return report;
}

}  // namespace whilst_test
