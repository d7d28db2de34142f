#include "validators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "apps/common/command_line.hpp"
#include "apps/whilst/ranks/partition.hpp"
#include "benchmarks/common/ranks.hpp"
#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "whilst/exchange/transports.hpp"

namespace whilst::command {

CLI::Validator preconditioner_of_matrix() {
  const CLI::Validator known = one_of(preconditioner_names());
  return {[known](std::string& text) -> std::string {
            linear_solver_options asked;
            asked.preconditioner = text;
            if (!is_preconditioner_in_parts(asked)) return known(text);
            try {
              chosen_preconditioner(fmt::format("\"{}\" will not do", text), asked);
            } catch (const error& problem) {
              return problem.what();
            }
            return {};
          },
          known.get_description()};
}

namespace {

/// What `from` takes.
template <class From>
CLI::Validator taken_by(const From& from, std::string type) {
  return {[from](std::string& text) -> std::string {
            try {
              from(text);
            } catch (const error& problem) {
              return problem.what();
            }
            return {};
          },
          std::move(type)};
}

}  // namespace

CLI::Validator ranks_of_group() { return taken_by(ranks_from, "RANKS"); }
CLI::Validator numbers_of_ranks() { return taken_by(numbers_of_ranks_from, "RANKS"); }
CLI::Validator partition_of_ranks() {
  return taken_by(check_partition, fmt::format("{}", fmt::join(partition_names(), "|")));
}

CLI::Validator transport_of_ranks() {
  std::string type = "auto";  // a shell's user is glad of names without spaces
  for (std::string name : transport_names()) {
    std::replace(name.begin(), name.end(), ' ', '-');
    type += "|" + name;
  }
  return {[](std::string& text) -> std::string {
            try {
              check_transport(fmt::format("\"{}\" will not do", text), text);
            } catch (const error& problem) {
              return problem.what();
            }
            return {};
          },
          type};
}

CLI::Validator tolerance_as(const char* example) {
  return number<double>(
      "FLOAT", [](double value) { return value >= 0 && std::isfinite(value); },
      fmt::format("a finite number that is not negative, as {}", example));
}

}  // namespace whilst::command
