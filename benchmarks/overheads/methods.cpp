#include "benchmarks/overheads/methods.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "benchmarks/overheads/linear_runs.hpp"
#include "benchmarks/overheads/matrix_free.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace overheads {

json measure_methods(const settings& asked, bool gpu) {
  // Cycles of gmres, whole; all methods are far from the solution still.
  constexpr run_lengths lengths{30, 90};
  std::vector<index_type> sides{64, 256, 1024, 4096};
  std::erase_if(sides,
                [&](index_type side) { return side * side > asked.largest || (side > 256 && (!gpu || asked.quick)); });
  const way how = gpu ? way{"graph", 16, true} : way{"host"};
  fmt::print("\nMethods, 5-point Poisson matrix, double, {}; microseconds an iteration\n{:<28}", name_of(how), "n");
  for (const index_type side : sides) fmt::print("{:>10}", side * side);
  fmt::print("\n");
  std::vector<problem> problems;
  for (const index_type side : sides) problems.emplace_back(fmt::format("poisson2d:{}", side), gpu);
  json entries = json::array();
  const auto add_row = [&](const std::string& name, const auto& time) {
    fmt::print("{:<28}", name);
    for (problem& given : problems) {
      const timing measured = attempt([&] { return time(given); });
      fmt::print("{:>10}", microseconds(measured));
      std::fflush(stdout);
      json entry = way_json(how);
      entry["method"] = name;
      entry["n"] = given.A.rows();
      entries.push_back(entry_of(measured, std::move(entry)));
    }
    fmt::print("\n");
  };
  for (const whilst::linear_method<double>& method : whilst::linear_methods<double>())
    add_row(method.name,
            [&](problem& given) { return time_solver(given, method.name, how, lengths, asked.budget(), nullptr); });
  for (const std::string name : {"cg", "pipelined-cg"})
    add_row(name + ", matrix-free", [&](problem& given) {
      const auto side = static_cast<index_type>(std::lround(std::sqrt(static_cast<double>(given.A.rows()))));
      return time_matrix_free(given, name, side, how, lengths, asked.budget());
    });
  return entries;
}

}  // namespace overheads
