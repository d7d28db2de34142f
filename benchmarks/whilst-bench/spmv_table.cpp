#include "benchmarks/whilst-bench/spmv_table.hpp"

#include <fmt/format.h>

#include "apps/common/text.hpp"
#include "benchmarks/whilst-bench/results_file.hpp"

namespace whilst_bench {
namespace {

using json = nlohmann::ordered_json;

double gigabytes_a_second(double bytes, double seconds) { return 1e-9 * bytes / seconds; }

json to_json(const spmv_entry& entry, const spmv_run& run) {
  json one{{"library", run.library}, {"format", run.format}, {"why_not", run.why_not}};
  // What is not finite becomes null.
  one["seconds"] = run.seconds;
  one["bytes"] = run.bytes;
  one["gigabytes_a_second"] = gigabytes_a_second(run.bytes, run.seconds);
  one["relative_to_cusparse"] = entry.relative_to_cusparse(run);
  one["error"] = run.error;
  one["right"] = run.is_right();
  return one;
}

json to_json(const spmv_entry& entry) {
  json one{{"name", entry.from.name},
           {"source", entry.from.gallery.empty() ? entry.from.file : entry.from.gallery},
           {"rows", entry.rows},
           {"columns", entry.columns},
           {"nonzeros", entry.nonzeros},
           {"longest_row", entry.longest_row},
           {"auto", {{"format", entry.automatic}, {"why", entry.why_automatic}}},
           {"copy",
            {{"seconds", entry.copy_seconds},
             {"bytes", entry.copy_bytes},
             {"gigabytes_a_second", gigabytes_a_second(entry.copy_bytes, entry.copy_seconds)}}},
           {"products", json::array()}};
  for (const spmv_run& run : entry.runs) one["products"].push_back(to_json(entry, run));
  return one;
}

void print_line(std::FILE* out, const std::string& label, double seconds, double bytes, double nonzeros) {
  fmt::print(out, "  {:<22}{:>11.2f}{:>9.1f}{:>11.2f}", label, 1e6 * seconds, gigabytes_a_second(bytes, seconds),
             bytes / nonzeros);
}

}  // namespace

int spmv_results::measured() const {
  int count = 0;
  for (const spmv_entry& entry : entries)
    for (const spmv_run& run : entry.runs) count += run.is_measured() ? 1 : 0;
  return count;
}

int spmv_results::wrong() const {
  int count = 0;
  for (const spmv_entry& entry : entries)
    for (const spmv_run& run : entry.runs) count += run.is_measured() && !run.is_right() ? 1 : 0;
  return count;
}

void print_spmv_head(std::FILE* out, const spmv_options& options, const spmv_results& results) {
  fmt::print(out, "Products y = A x in {}, executor {}; ", options.precision, results.executor);
  if (results.why_no_cusparse.empty())
    fmt::print(out, "cuSPARSE {}\n", results.cusparse_version);
  else
    fmt::print(out, "without cuSPARSE: {}\n", results.why_no_cusparse);
  std::fflush(out);
}

void print_spmv_entry(std::FILE* out, const spmv_entry& entry) {
  fmt::print(out, "\n{}: {} rows, {} nonzeros, {} in the longest row; auto takes {}\n", entry.from.name, entry.rows,
             entry.nonzeros, entry.longest_row, entry.automatic);
  fmt::print(out, "  {:<22}{:>11}{:>9}{:>11}{:>11}{:>8}\n", "product", "us", "GB/s", "bytes/nnz", "/cuSPARSE", "error");
  const double nonzeros = static_cast<double>(entry.nonzeros);
  for (const spmv_run& run : entry.runs) {
    if (!run.is_measured()) {
      fmt::print(out, "  {:<22}not run: {}\n", run.label(), run.why_not);
      continue;
    }
    print_line(out, run.label(), run.seconds, run.bytes, nonzeros);
    const double relative = entry.relative_to_cusparse(run);
    fmt::print(out, "{:>11}{:>8.2f}{}\n", std::isnan(relative) ? "" : fmt::format("{:.3f}", relative), run.error,
               run.is_right() ? "" : "  WRONG");
  }
  print_line(out, "copy", entry.copy_seconds, entry.copy_bytes, nonzeros);
  fmt::print(out, "\n");
  std::fflush(out);
}

void print_spmv_summary(std::FILE* out, const spmv_results& results) {
  fmt::print(out, "\n/cuSPARSE: time over that of cuSPARSE's fastest product. error: 1 is what rounding may cause.\n");
  for (const left_out_file& file : results.left_out)
    fmt::print(out, "left out: {}{}\n", file.is_system ? "" : file.name + ": ", file.why);
  fmt::print(out, "spmv: {} with {}, {}\n", whilst::command::counted(results.measured(), "product"),
             results.entries.size() == 1 ? "one matrix" : fmt::format("{} matrices", results.entries.size()),
             results.wrong() == 0 ? "all right" : fmt::format("{} WRONG", results.wrong()));
}

json spmv_json(const spmv_options& options, const spmv_results& results) {
  json head{{"suite", "spmv"},
            {"precision", options.precision},
            {"executor", results.executor},
            {"budget", options.budget},
            {"cusparse", {{"version", results.cusparse_version}, {"why_not", results.why_no_cusparse}}},
            {"measured", results.measured()},
            {"wrong", results.wrong()},
            {"left_out", json::array()}};
  for (const left_out_file& file : results.left_out)
    head["left_out"].push_back({{"name", file.name}, {"why", file.why}, {"is_matrix", file.is_system}});
  json matrices = json::array();
  for (const spmv_entry& entry : results.entries) matrices.push_back(to_json(entry));
  return results_document(std::move(head), "matrices", matrices);
}

}  // namespace whilst_bench
