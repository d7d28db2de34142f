#include "benchmarks/whilst-bench/spmv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apps/common/interrupts.hpp"
#include "apps/common/json_file.hpp"
#include "apps/common/program.hpp"
#include "apps/common/progress.hpp"
#include "benchmarks/common/baselines_products.hpp"
#include "benchmarks/whilst-bench/linear_cases.hpp"
#include "benchmarks/whilst-bench/spmv_runs.hpp"
#include "benchmarks/whilst-bench/spmv_table.hpp"
#include "benchmarks/whilst-bench/suite.hpp"
#include "solvers/linear/formats/formats.hpp"
#include "whilst/error.hpp"

namespace whilst_bench {
namespace {

using namespace whilst::command;
using strings = std::vector<std::string>;

/// Seconds on a processor.
const strings small_products{"poisson2d:64", "poisson3d:16", "elasticity2d:12", "elasticity3d:4", "powerlaw:5000"};
/// Larger than a GPU's caches: 56 million nonzeros, 79 million in blocks of 3 x 3, 9 million in rows of a power law,
/// and 84 million in rows of five.
const strings large_products{"poisson3d:200", "elasticity3d:43", "powerlaw:1000000", "poisson2d:4096"};

/// In the library's order.
strings formats_of(const spmv_options& options) {
  strings known = whilst::format_names();
  std::erase(known, std::string(whilst::automatic_format));
  return chosen("--formats", "format", options.formats, known);
}

linear_cases matrices_of(const spmv_options& options) {
  if (options.data.empty() && options.gallery.empty())
    throw whilst::error("whilst-bench spmv", "there is no matrix", "Give --data FOLDER or --gallery small");
  linear_options as_systems;
  as_systems.data = options.data;
  for (const std::string& name : options.gallery) {
    const strings names = name == "small" ? small_products : name == "large" ? large_products : strings{name};
    as_systems.gallery.insert(as_systems.gallery.end(), names.begin(), names.end());
  }
  linear_cases found = find_linear_cases(as_systems);
  for (linear_case& one : found.all) one.rhs.clear();
  return found;
}

template <class T>
spmv_entry run_case(const linear_case& from, const strings& formats, const spmv_options& options) {
  const whilst::csr_matrix<T> A = load_linear_case<T>(from).A;
  spmv_entry entry{.from = from, .rows = A.rows(), .columns = A.columns(), .nonzeros = A.nonzeros()};
  for (whilst::index_type i = 0; i < A.rows(); ++i)
    entry.longest_row = std::max(entry.longest_row, A.row_offset(i + 1) - A.row_offset(i));
  run_products(A, formats, options, entry);
  return entry;
}

void run_all(const linear_cases& cases, const strings& formats, const spmv_options& options, std::FILE* out,
             spmv_results& results) {
  const interrupt_watch interrupts;
  status_line status;
  for (std::size_t k = 0; k < cases.all.size(); ++k) {
    const linear_case& one = cases.all[k];
    if (interrupts.interrupted()) {
      results.left_out.push_back({one.name, one.name + ": interrupted"});
      continue;
    }
    try {
      status.show(fmt::format("{} of {}, {} (Ctrl-C stops after it)", k + 1, cases.all.size(), one.name));
      spmv_entry entry = options.precision == "float" ? run_case<float>(one, formats, options)
                                                      : run_case<double>(one, formats, options);
      status.show("");
      print_spmv_entry(out, entry);
      results.entries.push_back(std::move(entry));
    } catch (const whilst::error& problem) {
      results.left_out.push_back({one.name, problem.what()});
    }
  }
}

}  // namespace

int run_spmv(const spmv_options& options) {
  const json_destination report(options.json);
  const strings formats = formats_of(options);
  linear_cases cases = matrices_of(options);
  spmv_results results{spmv_executor(options), whilst::cusparse_version(), whilst::why_no_cusparse()};
  if (results.executor == "host" && results.why_no_cusparse.empty())
    results.why_no_cusparse = "the products run on the host";
  if (!results.why_no_cusparse.empty()) results.cusparse_version.clear();
  results.left_out = std::move(cases.left_out);

  std::FILE* const out = report.text();
  print_spmv_head(out, options, results);
  run_all(cases, formats, options, out, results);
  print_spmv_summary(out, results);
  report.write(spmv_json(options, results));
  require_standard_output();
  const bool all_taken = std::none_of(results.left_out.begin(), results.left_out.end(),
                                      [](const left_out_file& file) { return file.is_system; });
  return all_taken && results.wrong() == 0 ? succeeded : not_converged;
}

}  // namespace whilst_bench
