// Runs whilst-bench spmv as a script would. Bytes and lengths of rows are counted by hand.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/apps/bench_report.hpp"
#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"

namespace {

using nlohmann::json;
using whilst_test::check_refused;
using whilst_test::contains;
using whilst_test::folder;
using whilst_test::outcome;
using whilst_test::strings;
using whilst_test::text_of;
using whilst_test::with;

/// On the host, and as short as can be.
outcome run(const strings& arguments) {
  return whilst_test::run_program(whilst_test::program_path("whilst-bench"), with({"spmv"}, arguments));
}
strings on_host(const strings& arguments) { return with(arguments, {"--executor", "host", "--budget", "0.001"}); }

/// The report of such a run, which keeps to its schema.
json report_of(const strings& arguments, int expected_status) {
  return whilst_test::bench_report("spmv", with(arguments, {"--budget", "0.001"}), expected_status);
}

const json& product_in(const json& matrix, const std::string& format) {
  for (const json& one : matrix["products"])
    if (one["library"] == "whilst" && one["format"] == format) return one;
  FAIL("no product in " << format);
  return matrix;
}

}  // namespace

TEST_CASE("whilst-bench spmv makes products in every format, and says which format cannot hold a matrix") {
  const json report = report_of({"--gallery", "poisson2d:32,elasticity3d:2"}, 0);
  REQUIRE(report["matrices"].size() == 2);
  const json &stencil = report["matrices"][0], &blocks = report["matrices"][1];
  CHECK(stencil["rows"] == 1024);
  CHECK(stencil["nonzeros"] == 5 * 1024 - 4 * 32);
  CHECK(stencil["longest_row"] == 5);
  CHECK(stencil["auto"]["format"] == "csr");
  CHECK(contains(product_in(stencil, "bsr")["why_not"], "storing a matrix as bsr"));
  CHECK(product_in(blocks, "bsr")["why_not"] == "");
  CHECK(report["measured"] == 9);
  CHECK(report["wrong"] == 0);
  for (const json& matrix : report["matrices"]) {
    CHECK(matrix["products"].size() == 5);
    CHECK(double(matrix["copy"]["seconds"]) > 0);
    CHECK(matrix["copy"]["bytes"] == product_in(matrix, "csr")["bytes"]);
    for (const json& one : matrix["products"]) {
      INFO(matrix["name"] << " " << one["format"]);
      CHECK(one["relative_to_cusparse"].is_null());
      if (one["why_not"] != "") continue;
      CHECK(one["right"] == true);
      CHECK(double(one["seconds"]) > 0);
      CHECK(double(one["gigabytes_a_second"]) > 0);
    }
  }
  // Values and columns, offsets, x and y.
  const double nonzeros = 5 * 1024 - 4 * 32;
  CHECK(std::abs(double(product_in(stencil, "csr")["bytes"]) - (12 * nonzeros + 4 * 1025 + 16 * 1024)) <= 8);
  // 72 nodes of three unknowns: blocks of 3 x 3, an index each, in eight slices of ten nodes that pad some; where each
  // slice begins, and which node is at each place.
  const double stored = double(blocks["nonzeros"]) / 9, around = 4 * 9 + 4 * 80 + 16 * 216;
  const double padded = (double(product_in(blocks, "bsr")["bytes"]) - around) / 76;
  CHECK(padded == std::floor(padded));
  CHECK(padded >= stored);
  CHECK(padded <= 1.25 * stored);
}

TEST_CASE("whilst-bench spmv computes in float, and only in the formats asked for") {
  const json report = report_of({"--gallery", "powerlaw:500", "--formats", "balanced,csr", "--precision", "float"}, 0);
  CHECK(report["precision"] == "float");
  const json& products = report["matrices"][0]["products"];
  REQUIRE(products.size() == 2);
  CHECK(products[0]["format"] == "csr");
  CHECK(products[1]["format"] == "balanced");
  // Values and columns, offsets, x and y, of 4 bytes each.
  const double nonzeros = report["matrices"][0]["nonzeros"];
  CHECK(std::abs(double(products[0]["bytes"]) - (8 * nonzeros + 4 * 501 + 8 * 500)) <= 8);
  for (const json& one : products) {
    CHECK(double(one["error"]) > 0);  // rounding shows, in sums of up to 400 products
    CHECK(double(one["error"]) <= 1);
  }
}

TEST_CASE("whilst-bench spmv reads matrices of any shape and tells what it leaves out") {
  const folder here;
  here.with("rectangle.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 2 -1\n2 1 4\n");
  here.with("vector.mtx", "%%MatrixMarket matrix array real general\n2 1\n-2\n1\n");
  const strings arguments{"--data", here.at("."), "--formats", "csr,sell"};
  const json report = report_of(arguments, 0);
  REQUIRE(report["matrices"].size() == 1);
  CHECK(report["matrices"][0]["name"] == "rectangle");
  CHECK(report["matrices"][0]["columns"] == 3);
  REQUIRE(report["left_out"].size() == 1);
  CHECK(report["left_out"][0]["is_matrix"] == false);
  // What should have been a matrix makes the exit status 2.
  here.with("broken.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 -1\n");
  const json with_broken = report_of(arguments, 2);
  REQUIRE(with_broken["left_out"].size() == 2);
  CHECK(with_broken["left_out"][1]["is_matrix"] == true);
}

TEST_CASE("whilst-bench spmv prints a table, and why cuSPARSE is not in it") {
  const outcome table = run(on_host({"--gallery", "poisson2d:16", "--formats", "csr,bsr"}));
  INFO(table.out);
  CHECK(table.status == 0);
  for (const char* part :
       {"executor host; without cuSPARSE: ", "poisson2d:16: 256 rows, 1216 nonzeros, 5 in the longest row", "/cuSPARSE",
        "  bsr                   not run: ", "  copy  ", "spmv: 1 product with one matrix, all right\n"}) {
    INFO(part);
    CHECK(contains(table.out, part));
  }
  CHECK_FALSE(contains(table.out, "WRONG"));
  CHECK(table.err.empty());  // progress is for terminals
}

TEST_CASE("whilst-bench spmv refuses what it cannot mean") {
  const folder here;
  check_refused("whilst-bench", run,
                {{{}, "there is no matrix"},
                 {{"--gallery", "poisson2d:9", "--formats", "csc"},
                  "no format called \"csc\". Give all, or some of csr, bsr, sell, ell, balanced"},
                 {{"--gallery", "poisson2d:9", "--formats", "auto"}, "no format called \"auto\""},
                 {{"--gallery", "huge"}, "no problem called \"huge\""},
                 {{"--data", here.at("missing")}, "there is no such folder"}});
  const outcome help = run({"--help"});
  CHECK(help.status == 0);
  for (const char* part : {"Examples", "Exit status", "cuSPARSE", "large", "in long"}) CHECK(contains(help.out, part));
}
