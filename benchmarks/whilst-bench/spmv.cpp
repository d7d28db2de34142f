#include "benchmarks/whilst-bench/spmv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/common/json_file.hpp"
#include "apps/common/program.hpp"
#include "benchmarks/whilst-bench/linear_cases.hpp"
#include "benchmarks/whilst-bench/results_file.hpp"
#include "benchmarks/whilst-bench/spmv_runs.hpp"
#include "solvers/linear/formats/formats.hpp"
#include "whilst/error.hpp"

namespace whilst_bench {
namespace {

using namespace whilst::command;
using nlohmann::ordered_json;

/// "csr" first: the others are compared with it.
std::vector<std::string> formats_of(const spmv_options& options) {
  std::vector<std::string> known = whilst::format_names(), wanted{"csr"};
  known.erase(known.begin());  // auto
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const std::string& name : options.formats)
    if (name != "all" && !has(known, name))
      throw whilst::error("--formats", fmt::format("there is no format called \"{}\"", name),
                          fmt::format("Give all, or some of {}", fmt::join(known, ", ")));
  for (const std::string& name : known)
    if (name != "csr" && (has(options.formats, name) || has(options.formats, "all"))) wanted.push_back(name);
  return wanted;
}

template <class T>
ordered_json run_case(const linear_case& from, const std::vector<std::string>& formats, const spmv_options& options,
                      std::FILE* out, bool& agree) {
  const whilst::csr_matrix<T> A = load_linear_case<T>(from).A;
  fmt::print(out, "\n{}: {} rows, {} nonzeros; auto: {}\n", from.name, A.rows(), A.nonzeros(),
             whilst::choose_format(A).format);
  fmt::print(out, "{:<10}{:>12}{:>10}{:>12}{:>13}\n", "format", "us", "GB/s", "bytes/nnz", "difference");
  ordered_json runs = ordered_json::array();
  for (const spmv_run& one : run_products(A, formats, options)) {
    if (!one.why_not.empty()) {
      fmt::print(out, "{:<10}not run: {}\n", one.name, one.why_not);
      runs.push_back({{"format", one.name}, {"why_not", one.why_not}});
      continue;
    }
    const double a_nonzero = A.nonzeros() > 0 ? one.bytes / static_cast<double>(A.nonzeros()) : 0;
    fmt::print(out, "{:<10}{:>12.2f}{:>10.1f}{:>12.2f}{:>13}\n", one.name, 1e6 * one.seconds,
               1e-9 * one.bytes / one.seconds, a_nonzero,
               one.name == "copy" ? "" : fmt::format("{:.1e}", one.difference));
    runs.push_back({{"format", one.name}, {"seconds", one.seconds}, {"bytes", one.bytes}});
    if (one.name != "copy") runs.back()["difference"] = one.difference;
    if (!(one.difference <= (sizeof(T) == 4 ? 1e-4 : 1e-12))) agree = false;
  }
  std::fflush(out);
  return {{"name", from.name},
          {"n", A.rows()},
          {"nnz", A.nonzeros()},
          {"auto", whilst::choose_format(A).format},
          {"runs", std::move(runs)}};
}

}  // namespace

int run_spmv(const spmv_options& options) {
  const std::vector<std::string> formats = formats_of(options);
  linear_options as_linear;
  as_linear.data = options.data;
  as_linear.gallery = options.gallery;
  if (options.data.empty() && options.gallery.empty())
    throw whilst::error("whilst-bench spmv", "there is no matrix", "Give --data FOLDER or --gallery small");
  const linear_cases cases = find_linear_cases(as_linear);
  const json_destination report(options.json);
  const std::string executor = spmv_executor(options);
  fmt::print(report.text(), "products in {}, executor {}\n", options.precision, executor);
  ordered_json matrices = ordered_json::array();
  bool agree = true;
  for (const linear_case& one : cases.all)
    matrices.push_back(options.precision == "float" ? run_case<float>(one, formats, options, report.text(), agree)
                                                    : run_case<double>(one, formats, options, report.text(), agree));
  report.write(results_document({{"suite", "spmv"}, {"precision", options.precision}, {"executor", executor}},
                                "matrices", matrices));
  return agree ? succeeded : not_converged;
}

}  // namespace whilst_bench
