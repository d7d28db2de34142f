#include <CLI/CLI.hpp>

#include "benchmarks/whilst-bench/spmv.hpp"

namespace whilst_bench {

CLI::App* add_spmv_command(CLI::App& app, spmv_options& options) {
  CLI::App* const command = app.add_subcommand(
      "spmv",
      "Products y = A x in every matrix format, in microseconds and GB/s, beside a copy of as many bytes as csr moves, "
      "and beside cuSPARSE's on a GPU");
  command->add_option("--data", options.data, "Every matrix in .mtx and .mtx.gz files below this folder");
  command
      ->add_option("--gallery", options.gallery,
                   "Model problems, as poisson2d:512, with commas between; small: a set for a processor; large: one "
                   "for a GPU, with 9 to 84 million nonzeros each")
      ->delimiter(',');
  command->add_option("--formats", options.formats, "Of csr, bsr, sell, ell, balanced, with commas between; or all")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--executor", options.executor, "auto, host, stream or graph")
      ->check(CLI::IsMember({"auto", "host", "stream", "graph"}))
      ->capture_default_str();
  command->add_option("--type,--precision", options.precision, "double or float")
      ->check(CLI::IsMember({"double", "float"}))
      ->capture_default_str();
  command->add_option("--budget", options.budget, "Seconds of measured products in each format")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--json", options.json, "Write the results to this file; - for standard output");
  command->footer(
      "A time is the difference between runs of two lengths, divided by the products between them. GB/s count what\n"
      "the format reads of the matrix, x and y once; x may come from a cache. Each y is compared with A x in long\n"
      "double, row by row: an error of 1 is what rounding may cause. cuSPARSE's products run in one CUDA graph, too.\n"
      "\nExamples:\n"
      "  whilst-bench spmv --gallery small\n"
      "  whilst-bench spmv --gallery poisson3d:100,elasticity3d:30 --formats csr,bsr,sell\n"
      "  whilst-bench spmv --data matrices --json products.json\n"
      "\nExit status: 0 all products are right, 2 some are not or a file cannot be read, 1 an error.");
  return command;
}

}  // namespace whilst_bench
