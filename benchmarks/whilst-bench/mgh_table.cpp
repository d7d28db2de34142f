#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "benchmarks/whilst-bench/mgh_runs.hpp"
#include "benchmarks/whilst-bench/results_file.hpp"
#include "benchmarks/whilst-bench/suite.hpp"

namespace whilst_bench {
namespace {

using json = nlohmann::ordered_json;

/// How many problems have all their sizes in a set of sizes.
template <class Solved>
int count_problems(const std::vector<mgh_entry>& entries, const Solved& solved) {
  std::map<int, bool> by_number;
  for (const mgh_entry& entry : entries) {
    const auto [known, fresh] = by_number.try_emplace(entry.problem.number, true);
    known->second = known->second && solved(entry);
  }
  return static_cast<int>(
      std::count_if(by_number.begin(), by_number.end(), [](const auto& problem) { return problem.second; }));
}

/// Why a run did not end at a published minimum, as far as its ending tells.
std::string why_missed(const mgh_run& run, whilst::index_type limit) {
  switch (run.reason) {
    case whilst::reason::iteration_limit:
      return fmt::format("on its way after {} iterations", limit);
    case whilst::reason::converged_gradient:
      return "a point without slope that is no published minimum";
    case whilst::reason::converged_function:
      return "rounding in f hides what a step would gain";
    default:
      return std::string(sentence(run.reason));
  }
}

void print_all(std::FILE* out, const std::vector<std::string>& methods, const std::vector<mgh_entry>& entries) {
  fmt::print(out, "Evaluations of f and its gradient to a published minimum from the standard start, -: missed\n\n");
  fmt::print(out, "{:>3} {:<37} {:>2} {:>12}", "no.", "problem", "n", "published f");
  for (const std::string& method : methods) fmt::print(out, " {:>9}", short_name(method));
  fmt::print(out, "\n");
  for (const mgh_entry& entry : entries) {
    const whilst::test_problem& problem = entry.problem;
    fmt::print(out, "{:>3} {:<37} {:>2} {:>12.6g}", problem.number, problem.title, problem.n, problem.minima.global);
    for (const mgh_runs& runs : entry.by_method)
      fmt::print(out, " {:>9}", runs[0].solved ? fmt::format("{}", runs[0].evaluations) : "-");
    fmt::print(out, "\n");
  }
}

void print_one(std::FILE* out, const std::vector<mgh_entry>& entries) {
  fmt::print(out, "{:>3} {:<37} {:>2} {:>10} {:>11} {:>13} {:>12} {:>9} {:<18} {:<15} {:>4} {:>5}\n", "no.", "problem",
             "n", "iterations", "evaluations", "f", "published f", "|g|", "reason", "standard start", "10 x", "100 x");
  for (const mgh_entry& entry : entries) {
    const whilst::test_problem& problem = entry.problem;
    const mgh_runs& runs = entry.by_method[0];
    const auto mark = [](const mgh_run& run) { return run.solved ? "yes" : "-"; };
    fmt::print(out, "{:>3} {:<37} {:>2} {:>10} {:>11} {:>13.6g} {:>12.6g} {:>9.1e} {:<18} {:<15} {:>4} {:>5}\n",
               problem.number, problem.title, problem.n, runs[0].iterations, runs[0].evaluations, runs[0].value,
               problem.minima.global, runs[0].gradient_norm, name(runs[0].reason), runs[0].solved ? "solved" : "missed",
               mark(runs[1]), mark(runs[2]));
  }
}

void print_misses(std::FILE* out, const std::vector<std::string>& methods, const std::vector<mgh_entry>& entries) {
  bool any = false;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    for (const mgh_entry& entry : entries) {
      const mgh_run& run = entry.by_method[m][0];
      if (run.solved) continue;
      if (!any) fmt::print(out, "\nmissed from the standard start:\n");
      any = true;
      fmt::print(out, "{:<21} {:>2} {:<37} n {:>2}  f {:.6g} and not {:.6g}, |g| {:.1e}: {}\n", methods[m],
                 entry.problem.number, entry.problem.title, entry.problem.n, run.value, entry.problem.minima.global,
                 run.gradient_norm, why_missed(run, mgh_iterations(methods[m])));
    }
  }
}

json to_json(const mgh_runs& runs) {
  json list = json::array();
  for (std::size_t k = 0; k < runs.size(); ++k)
    list.push_back({{"times", mgh_starts[k]},
                    {"solved", runs[k].solved},
                    {"f", runs[k].value},
                    {"gradient_norm", runs[k].gradient_norm},
                    {"iterations", runs[k].iterations},
                    {"evaluations", runs[k].evaluations},
                    {"reason", name(runs[k].reason)}});
  return list;
}

}  // namespace

int report_mgh(const std::vector<std::string>& methods, const std::vector<mgh_entry>& entries,
               const std::string& json_path) {
  std::FILE* const out = json_path == "-" ? stderr : stdout;
  fmt::print(out, "On the host; f is a sum of squares without the factor 1/2\n");
  methods.size() == 1 ? print_one(out, entries) : print_all(out, methods, entries);
  print_misses(out, methods, entries);

  const auto all = count_problems(entries, [](const mgh_entry&) { return true; });
  fmt::print(out, "\nproblems solved at all their sizes, of {}\n{:<21} {:>14} {:>5} {:>6} {:>12}\n", all, "method",
             "standard start", "10 x", "100 x", "evaluations");
  json by_method;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    std::array<int, mgh_starts.size()> solved{};
    for (std::size_t k = 0; k < solved.size(); ++k)
      solved[k] = count_problems(entries, [&](const mgh_entry& entry) { return entry.by_method[m][k].solved; });
    whilst::index_type evaluations = 0;
    for (const mgh_entry& entry : entries) evaluations += entry.by_method[m][0].evaluations;
    fmt::print(out, "{:<21} {:>14} {:>5} {:>6} {:>12}\n", methods[m], solved[0], solved[1], solved[2], evaluations);
    by_method[methods[m]] = {{"solved", solved[0]},
                             {"solved_from_10x", solved[1]},
                             {"solved_from_100x", solved[2]},
                             {"evaluations", evaluations},
                             {"max_iterations", mgh_iterations(methods[m])}};
  }
  const int solved = count_problems(entries, [](const mgh_entry& entry) {
    return std::any_of(entry.by_method.begin(), entry.by_method.end(),
                       [](const mgh_runs& runs) { return runs[0].solved; });
  });
  fmt::print(out, "mgh: {} of {} solved\n", solved, all);

  json problems = json::array();
  for (const mgh_entry& entry : entries) {
    const whilst::test_problem& problem = entry.problem;
    json one{{"number", problem.number},
             {"name", problem.title},
             {"n", problem.n},
             {"m", problem.residuals},
             {"published_minimum", problem.minima.global},
             {"other_published", problem.minima.local}};
    for (std::size_t m = 0; m < methods.size(); ++m) one["starts"][methods[m]] = to_json(entry.by_method[m]);
    problems.push_back(std::move(one));
  }
  write_results(json_path,
                {{"suite", "mgh"}, {"executor", "host"}, {"solved", solved}, {"of", all}, {"methods", by_method}},
                "problems", problems);
  return solved == all ? 0 : 2;
}

}  // namespace whilst_bench
