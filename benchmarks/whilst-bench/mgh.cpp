#include "benchmarks/whilst-bench/mgh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "benchmarks/whilst-bench/results_file.hpp"
#include "kernels/test_functions.hpp"
#include "whilst/least_squares.hpp"

namespace whilst_bench {
namespace {

using json = nlohmann::ordered_json;

constexpr std::array<double, 3> starts{1, 10, 100};

struct mgh_run {
  whilst::index iterations = 0;
  double value = 0, gradient = 0;
  std::string reason;
  bool solved = false;
};

/// f - f* <= 1e-8 max(1, |f*|), and a unit in the last of the six digits to which minima are published.
bool is_minimum(double f, double published) {
  return std::isfinite(f) && f - published <= 1e-8 * std::max(1.0, published) + 1e-5 * published &&
         published - f <= 1e-8 * std::max(1.0, published) + 1e-5 * published;
}

template <class Problem>
mgh_run minimise(const Problem& problem, double factor, const whilst::test_functions::published_minima& minima) {
  whilst::least_squares_solver<double, Problem> solver([&](whilst::place) { return problem; }, {.executor = "host"});
  std::vector<double> x(Problem::unknowns);
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = factor * problem.start(static_cast<whilst::index>(j));
  const whilst::least_squares_report report = solver.solve(x);
  mgh_run run{
      .iterations = report.iterations(), .value = 2 * report.value, .reason = std::string(name(report.reason()))};
  // |g| of f, which has no factor 1/2, from duals of its own.
  std::vector<whilst::dual<double, Problem::unknowns>> b;
  for (std::size_t j = 0; j < x.size(); ++j)
    b.push_back(whilst::dual<double, Problem::unknowns>::variable(x[j], static_cast<int>(j)));
  std::vector<double> gradient(x.size());
  for (whilst::index i = 0; i < problem.count(); ++i) {
    const auto r = problem(i, b.data());
    for (std::size_t j = 0; j < x.size(); ++j) gradient[j] += 2 * r.value * r.gradient[j];
  }
  for (const double g : gradient) run.gradient = std::hypot(run.gradient, g);
  run.solved = is_minimum(run.value, minima.global);
  for (const double local : minima.local) run.solved = run.solved || is_minimum(run.value, local);
  return run;
}

}  // namespace

int run_mgh(const mgh_options& options) {
  std::FILE* const out = options.json == "-" ? stderr : stdout;
  fmt::print(out, "Levenberg-Marquardt on the host; f is a sum of squares without the factor 1/2\n\n");
  fmt::print(out, "{:>3} {:<34} {:>3} {:>10} {:>13} {:>9} {:<19} {}\n", "no.", "problem", "n", "iterations", "f", "|g|",
             "from the standard start", "10 x  100 x");
  std::map<int, bool> solved_by_number;
  std::array<int, starts.size()> solved{};
  int entries = 0;
  json problems = json::array();
  whilst::test_functions::for_each_test_function([&](const auto& problem, const auto& minima) {
    std::array<mgh_run, starts.size()> runs;
    json entry{{"number", problem.number}, {"name", problem.name}, {"n", problem.n}, {"m", problem.count()}};
    entry["published_minimum"] = minima.global;
    entry["other_published"] = minima.local;
    for (std::size_t k = 0; k < starts.size(); ++k) {
      runs[k] = minimise(problem, starts[k], minima);
      solved[k] += runs[k].solved;
      entry["starts"].push_back({{"times", starts[k]},
                                 {"solved", runs[k].solved},
                                 {"f", runs[k].value},
                                 {"gradient_norm", runs[k].gradient},
                                 {"iterations", runs[k].iterations},
                                 {"reason", runs[k].reason}});
    }
    ++entries;
    const auto [known, fresh] = solved_by_number.try_emplace(problem.number, true);
    known->second = known->second && runs[0].solved;
    const auto mark = [](const mgh_run& run) { return run.solved ? "solved" : "-"; };
    fmt::print(out, "{:>3} {:<34} {:>3} {:>10} {:>13.6g} {:>9.1e} {:<19} {:<7} {:<7} {}\n", problem.number,
               problem.name, problem.n, runs[0].iterations, runs[0].value, runs[0].gradient, runs[0].reason,
               runs[0].solved ? "solved" : "missed", mark(runs[1]), mark(runs[2]));
    problems.push_back(std::move(entry));
  });
  const auto count =
      std::count_if(solved_by_number.begin(), solved_by_number.end(), [](const auto& one) { return one.second; });
  fmt::print(out, "\nof {} sizes: {} from the standard start, {} from 10 x, {} from 100 x\nmgh: {} of {} solved\n",
             entries, solved[0], solved[1], solved[2], count, solved_by_number.size());
  write_results(options.json,
                {{"suite", "mgh"}, {"method", "levenberg-marquardt"}, {"executor", "host"}, {"solved", count}},
                "problems", problems);
  return count == static_cast<std::ptrdiff_t>(solved_by_number.size()) ? 0 : 2;
}

}  // namespace whilst_bench
