#include "benchmarks/overheads/multigrid.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/overheads/linear_runs.hpp"

namespace overheads {
namespace {

constexpr int repeats = 5;

struct whole_solve {
  double setup = 0, solve = 0, refresh = 0;  ///< seconds
  whilst::report last;
};

/// The median time to make a solver for a matrix that is on its place already, once one of its kind has been made in
/// this process; solves from zero to a true relative residual of 1e-8; and what a solve takes longer if the values
/// before it were others.
whole_solve measure(problem& given, const std::string& preconditioner, const way& how, bool gpu) {
  using clock = std::chrono::steady_clock;
  linear_solver_options options = options_for(how);
  options.preconditioner = preconditioner;
  options.amg = given.amg;
  options.rtol = 1e-8;
  options.max_iterations = 20'000;
  const csr_matrix<double>& A = gpu ? *given.A_on_gpu : given.A;
  whole_solve measured;
  { whilst::linear_solver<double> first(A, options); }
  std::optional<whilst::linear_solver<double>> made;
  std::vector<double> setups;
  for (int k = 0; k < repeats; ++k) {
    made.reset();
    const auto began = clock::now();
    made.emplace(A, options);
    setups.push_back(std::chrono::duration<double>(clock::now() - began).count());
  }
  measured.setup = median(setups);
  whilst::linear_solver<double>& solver = *made;

  std::vector<double> x(static_cast<std::size_t>(A.rows()), 0),
      scaled(given.A.values().begin(), given.A.values().end());
  for (double& value : scaled) value *= 1.5;
  whilst::buffer<double> others;
  if (gpu) others = whilst::buffer<double>(whilst::place::gpu(0), A.nonzeros(), scaled.data());
  const auto solve = [&](const double* values) {
    solver.bind_values(values);
    if (gpu) given.x_on_gpu.upload(x.data());
    std::vector<double> result(x);
    whilst::ticket running = gpu ? solver.enqueue(nullptr, given.b_on_gpu.data(), given.x_on_gpu.data())
                                 : solver.enqueue(nullptr, given.b.data(), result.data());
    measured.last = running.wait();
    return measured.last.solve_seconds();
  };
  std::vector<double> same, changed;
  for (int k = 0; k < repeats; ++k) {
    changed.push_back(solve(gpu ? others.data() : scaled.data()));
    changed.push_back(solve(A.values_data()));
    same.push_back(solve(A.values_data()));
  }
  measured.solve = median(same);
  measured.refresh = median(changed) - measured.solve;
  return measured;
}

}  // namespace

json measure_multigrid(const settings& asked, bool gpu) {
  const way how = gpu ? way{"graph", 0, true} : way{"host"};
  std::vector<std::string> problems{"poisson3d:20", "anisotropic2d:100", "elasticity3d:6"};
  if (gpu && !asked.quick && asked.largest >= 1'000'000)
    problems = {"poisson3d:46",       "poisson3d:100",   "poisson3d:200",   "poisson3d:320",      "poisson3d:464",
                "anisotropic2d:1000", "elasticity3d:20", "elasticity3d:43", "checkerboard3d:100", "jumps3d:100"};
  fmt::print("\nWhole solves by cg, double, {}, to a true relative residual of 1e-8; milliseconds\n", name_of(how));
  fmt::print("{:<20}{:<38}{:>10}{:>10}{:>10}{:>12}\n", "", "", "set-up", "solve", "refresh", "iterations");
  json entries = json::array();
  for (const std::string& name : problems) {
    problem given(name, gpu);
    std::vector<std::string> preconditioners{"jacobi", "amg", "amg,precision=bfloat16", "amg,precision=double"};
    if (name.starts_with("poisson3d") || name.starts_with("anisotropic2d"))
      for (const char* geometric : {"multigrid", "multigrid,sweeps=2"}) preconditioners.emplace_back(geometric);
    // What is made in parallel without levels, at a size at which it may pay.
    if (given.A.rows() <= 1'000'000 && given.amg.unknowns_a_node == 1)
      for (const char* other :
           {"fsai", "fsai,power=16,drop=0.1,order=random", "block_jacobi", "block_jacobi,rows=64", "ssor", "schwarz",
            "chebyshev", "amg,coarsening=classical", "amg,cycle=W", "amg,smoother=chebyshev,sweeps=2"})
        preconditioners.emplace_back(other);
    if (!asked.preconditioners.empty()) preconditioners = asked.preconditioners;
    if (given.A.rows() > 50'000'000)  // where those without levels take minutes
      std::erase_if(preconditioners, [](const std::string& one) { return !one.starts_with("amg"); });
    for (const std::string& preconditioner : preconditioners) {
      json entry = way_json(how);
      entry["problem"] = name;
      entry["preconditioner"] = preconditioner;
      entry["n"] = given.A.rows();
      entry["nonzeros"] = given.A.nonzeros();
      try {
        const whole_solve measured = measure(given, preconditioner, how, gpu);
        const whilst::report& last = measured.last;
        fmt::print("{:<20}{:<38}{:>10.4g}{:>10.4g}{:>10.4g}{:>12}{}\n", name, preconditioner, 1e3 * measured.setup,
                   1e3 * measured.solve, 1e3 * measured.refresh, last.iterations(),
                   last.converged() ? "" : "  " + last.message());
        entry["setup_milliseconds"] = 1e3 * measured.setup;
        entry["solve_milliseconds"] = 1e3 * measured.solve;
        entry["refresh_milliseconds"] = 1e3 * measured.refresh;
        entry["iterations"] = last.iterations();
        entry["converged"] = last.converged();
        entry["relative_residual"] = last.relative_residual();
        entry["made"] = last.preconditioner_choice();
      } catch (const whilst::error& problem) {
        fmt::print("{:<20}{:<38}{}\n", name, preconditioner, problem.what());
        entry["why_not"] = problem.what();
      }
      std::fflush(stdout);
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

}  // namespace overheads
