#include <CLI/CLI.hpp>

#include "benchmarks/whilst-bench/spmv.hpp"

namespace whilst_bench {

CLI::App* add_spmv_command(CLI::App& app, spmv_options& options) {
  CLI::App* const command = app.add_subcommand(
      "spmv",
      "Products y = A x in every matrix format, in microseconds and GB/s, beside a copy of as many bytes as csr moves");
  command->add_option("--data", options.data, "Every square matrix in .mtx and .mtx.gz files below this folder");
  command
      ->add_option("--gallery", options.gallery, "Model problems, as poisson2d:512, with commas between; small: a set")
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
  command->add_option("--budget", options.budget, "Seconds of measured products for each format")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--json", options.json, "Write the results to this file; - for standard output");
  command->footer(
      "A time is the difference between runs of two lengths, divided by the products between them. GB/s count what\n"
      "the format reads of the matrix, x and y once; x may come from a cache. difference: max |y - z| / max |z|, z by\n"
      "csr.\n"
      "\nExamples:\n"
      "  whilst-bench spmv --gallery small\n"
      "  whilst-bench spmv --gallery poisson3d:100,elasticity3d:30 --formats csr,bsr,sell\n"
      "  whilst-bench spmv --data matrices --json products.json\n"
      "\nExit status: 0 all products agree, 2 some differ by more than rounding, 1 an error.");
  return command;
}

}  // namespace whilst_bench
