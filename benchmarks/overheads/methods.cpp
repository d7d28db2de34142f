#include "benchmarks/overheads/methods.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "benchmarks/overheads/linear_runs.hpp"
#include "benchmarks/overheads/matrix_free.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace overheads {

namespace {

/// A table of methods by sizes: squares of `sides`.
class table_of_methods {
 public:
  table_of_methods(const way& how, const run_lengths& lengths, const std::vector<index_type>& sides,
                   const settings& asked, bool gpu)
      : how_(how), lengths_(lengths), asked_(asked) {
    for (const index_type side : sides)
      if (side * side <= asked.largest) problems_.emplace_back(fmt::format("poisson2d:{}", side), gpu);
    fmt::print("\nMethods, 5-point Poisson matrix, double, {}; microseconds an iteration\n{:<28}", name_of(how), "n");
    for (const problem& given : problems_) fmt::print("{:>10}", given.A.rows());
    fmt::print("\n");
  }
  template <class Time>
  void add_row(const std::string& name, json& entries, const Time& time) {
    fmt::print("{:<28}", name);
    for (problem& given : problems_) {
      const timing measured = attempt([&] { return time(given); });
      fmt::print("{:>10}", microseconds(measured));
      std::fflush(stdout);
      json entry = way_json(how_);
      entry["method"] = name;
      entry["n"] = given.A.rows();
      entries.push_back(entry_of(measured, std::move(entry)));
    }
    fmt::print("\n");
  }
  void add_method(const std::string& name, json& entries) {
    add_row(name, entries,
            [&](problem& given) { return time_solver(given, name, how_, lengths_, asked_.budget(), nullptr); });
  }
  void add_matrix_free(const std::string& name, json& entries) {
    add_row(name + ", matrix-free", entries, [&](problem& given) {
      const auto side = static_cast<index_type>(std::lround(std::sqrt(static_cast<double>(given.A.rows()))));
      return time_matrix_free(given, name, side, how_, lengths_, asked_.budget());
    });
  }

 private:
  way how_;
  run_lengths lengths_;
  const settings& asked_;
  std::vector<problem> problems_;
};

}  // namespace

json measure_methods(const settings& asked, bool gpu) {
  // Cycles of gmres, whole; all methods are far from the solution still.
  constexpr run_lengths lengths{30, 90};
  const std::vector<index_type> sides =
      gpu && !asked.quick ? std::vector<index_type>{64, 256, 1024, 4096} : std::vector<index_type>{64, 256};
  json entries = json::array();
  table_of_methods table(gpu ? way{"graph", 16, true} : way{"host"}, lengths, sides, asked, gpu);
  for (const whilst::linear_method<double>& method : whilst::linear_methods<double>())
    table.add_method(method.name, entries);
  for (const std::string name : {"cg", "pipelined-cg"}) table.add_matrix_free(name, entries);
  if (!gpu) return entries;
  table_of_methods in_kernel(way{"resident"}, lengths, {16, 32, 64, 128, 181}, asked, gpu);
  for (const whilst::linear_method<double>& method : whilst::linear_methods<double>())
    if (method.in_kernel.runs) in_kernel.add_method(method.name, entries);
  return entries;
}

}  // namespace overheads
