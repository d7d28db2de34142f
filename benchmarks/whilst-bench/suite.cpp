#include "benchmarks/whilst-bench/suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "whilst/error.hpp"
#include "whilst/machine.hpp"

namespace whilst_bench {

std::vector<std::string> chosen(const std::string& doing, std::string_view what, const std::vector<std::string>& wanted,
                                const std::vector<std::string>& known) {
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const std::string& name : wanted) {
    if (name != "all" && !has(known, name))
      throw whilst::error(doing, fmt::format("there is no {} called \"{}\"", what, name),
                          fmt::format("Give all, or some of {}", fmt::join(known, ", ")));
  }
  if (wanted.empty()) throw whilst::error(doing, fmt::format("there is no {}", what), "Give at least one, or all");
  std::vector<std::string> result;
  std::copy_if(known.begin(), known.end(), std::back_inserter(result),
               [&](const std::string& name) { return has(wanted, name) || has(wanted, "all"); });
  return result;
}

void require_executor(const std::string& wanted) {
  for (const auto& executor : whilst::describe_machine().executors)
    if (executor.name == wanted && !executor.available)
      throw whilst::error("--executor " + wanted, executor.why_not, "Take another one, or auto");
}

std::string short_name(const std::string& minimizer) {
  return minimizer == "levenberg-marquardt"      ? "l-m"
         : minimizer == "levenberg-marquardt-cg" ? "l-m-cg"
         : minimizer == "conjugate-gradient-pr"  ? "cg-pr"
         : minimizer == "conjugate-gradient-hz"  ? "cg-hz"
         : minimizer == "gradient-descent"       ? "descent"
                                                 : minimizer;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace whilst_bench
