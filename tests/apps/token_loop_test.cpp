// Runs token_loop as a person or script would: arguments in; exit status, output and files out.
// Its path is the environment variable WHILST_TEST_TOKEN_LOOP, or else it is a neighbour of the program whilst.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <Eigen/Core>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "apps/token_loop/weights.hpp"
#include "tests/apps/run_program.hpp"
#include "tests/catch.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/version.hpp"

namespace {

using nlohmann::json;
using whilst::index_type;
using whilst_test::check_refused;
using whilst_test::check_version_and_help;
using whilst_test::contains;
using whilst_test::folder;
using whilst_test::outcome;
using whilst_test::strings;
using whilst_test::text_of;
using whilst_test::with;

outcome run(const strings& arguments) {
  const char* given = std::getenv("WHILST_TEST_TOKEN_LOOP");
  return whilst_test::run_program(given ? given : whilst_test::program_path("token_loop"), arguments);
}

json report_of(const strings& arguments, int expected_status = 0) {
  const outcome result = run(with(arguments, {"--json", "-", "--repetitions", "1"}));
  INFO(result.out << result.err);
  REQUIRE(result.status == expected_status);
  return json::parse(result.out);
}

/// The CPU, and a GPU where there is one.
std::vector<std::string> executors() {
  return whilst::cuda::device_count() > 0 ? strings{"host", "auto"} : strings{"host"};
}

/// The model by Eigen, in double. The weights are those of the program, which are noise by a published formula; nothing
/// else is.
class reference_model {
 public:
  using matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  reference_model(index_type d, index_type layers) {
    const whilst::token_loop::model_size size{d, layers};
    const auto scales = whilst::token_loop::scales_of(size);
    for (index_type m = 0; m < size.matrices(); ++m) {
      matrices_.emplace_back(d, d);
      for (index_type k = 0; k < d * d; ++k)
        matrices_.back().data()[k] = whilst::token_loop::weight(size, scales, m * d * d + k);
    }
    x_ = matrices_.back().row(1).transpose();
  }
  /// The output of the token that comes next.
  Eigen::VectorXd output() const {
    Eigen::VectorXd x = x_;
    for (std::size_t m = 0; m + 1 < matrices_.size(); m += 2) {
      const Eigen::ArrayXd u = matrices_[m] * normalized(x);
      x += matrices_[m + 1] * (u / (1 + (-u).exp())).matrix();
    }
    return normalized(x);
  }
  /// Goes on from an output with a token, the k-th.
  void go_on(const Eigen::VectorXd& y, index_type token, index_type k) {
    const matrix& embedding = matrices_.back();
    x_ = double(whilst::token_loop::kept) * y +
         double(whilst::token_loop::added) * (embedding.row(token) + embedding.row(k % embedding.rows())).transpose();
  }

 private:
  static Eigen::VectorXd normalized(const Eigen::VectorXd& x) {
    return x / std::sqrt(x.squaredNorm() / static_cast<double>(x.size()) + 1e-5);
  }
  std::vector<matrix> matrices_;
  Eigen::VectorXd x_;
};

/// A product of d terms in float is off by some sqrt(d) roundings of numbers near 1, each layer adds two, and a token
/// keeps less than it makes: so as many roundings as this, with a factor for the extreme of many.
double tolerance_of(index_type d, index_type layers) {
  return 16 * std::sqrt(static_cast<double>(d) * static_cast<double>(layers)) * std::numeric_limits<float>::epsilon();
}

/// Each token is the largest entry of what Eigen makes after the tokens before it, up to rounding, and has its value.
void check_outputs(const json& report) {
  const index_type d = report["dimension"], layers = report["layers"];
  const double tolerance = tolerance_of(d, layers);
  reference_model model(d, layers);
  double largest_error = 0;
  for (std::size_t t = 0; t < report["tokens"].size(); ++t) {
    const index_type token = report["tokens"][t];
    const double value = report["values"][t];
    REQUIRE(token >= 0);
    REQUIRE(token < d);
    const Eigen::VectorXd y = model.output();
    largest_error = std::max(largest_error, std::abs(y[token] - value));
    CHECK(y[token] >= y.maxCoeff() - tolerance);
    model.go_on(y, token, static_cast<index_type>(t) + 1);
  }
  INFO("dimension " << d << ", layers " << layers << ", tolerance " << tolerance);
  CHECK(largest_error < tolerance);
}

}  // namespace

TEST_CASE("token_loop tells its version and how it is used") {
  check_version_and_help("token_loop", run, {"silu", "--end-token", "one launch"});
}

TEST_CASE("token_loop: all ways make the same bits, and Eigen's numbers in double") {
  struct sizes {
    const char *dimension, *layers, *tokens;
  };
  // One quad a row; not a whole warp's; more than one a lane; not a multiple of a warp's; more than a lane holds.
  const auto given = GENERATE(sizes{"4", "1", "5"}, sizes{"64", "3", "40"}, sizes{"128", "4", "64"},
                              sizes{"260", "2", "12"}, sizes{"1028", "1", "4"});
  for (const std::string& executor : executors()) {
    const json report = report_of(
        {"--dimension", given.dimension, "--layers", given.layers, "--tokens", given.tokens, "--executor", executor});
    INFO(executor << ", dimension " << given.dimension);
    CHECK(report["same_bits"] == true);
    REQUIRE(report["ways"].size() == (executor == "host" ? 2 : 4));
    for (const json& way : report["ways"]) {
      CHECK(std::to_string(int(way["tokens"])) == given.tokens);
      CHECK(way["reason"] == "iteration_limit");
      CHECK(double(way["seconds_a_token"]) > 0);
    }
    CHECK(report["tokens"].size() == report["values"].size());
    check_outputs(report);
  }
}

TEST_CASE("token_loop: a long generation neither dies nor explodes, nor repeats one token, nor gathers rounding") {
  const json report = report_of({"--dimension", "64", "--layers", "6", "--tokens", "700", "--executor", "host"});
  REQUIRE(report["tokens"].size() == 700);
  std::set<int> different(report["tokens"].begin(), report["tokens"].end());
  CHECK(different.size() > 10);
  for (const double value : report["values"]) {
    CHECK(value > 1);  // the largest of 64 numbers whose mean square is 1
    CHECK(value <= 8);
  }
  check_outputs(report);
}

TEST_CASE("token_loop ends with the end token, on the device, in each way") {
  for (const std::string& executor : executors()) {
    const strings arguments{"--dimension", "64", "--layers", "2", "--tokens", "50", "--executor", executor};
    const json all = report_of(arguments);
    const std::vector<int> tokens = all["tokens"];
    // The token that comes for the first time latest, and the first one.
    std::size_t latest = 0;
    for (std::size_t t = 0; t < tokens.size(); ++t)
      if (std::find(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(t), tokens[t]) ==
          tokens.begin() + static_cast<std::ptrdiff_t>(t))
        latest = t;
    REQUIRE(latest > 2);
    for (const std::size_t t : {latest, std::size_t{0}}) {
      const json ended = report_of(with(arguments, {"--end-token", std::to_string(tokens[t])}));
      INFO(executor << ", token " << tokens[t] << " at " << t);
      CHECK(ended["same_bits"] == true);
      REQUIRE(ended["tokens"].size() == t + 1);
      CHECK(std::equal(ended["values"].begin(), ended["values"].end(), all["values"].begin()));
      for (const json& way : ended["ways"]) {
        CHECK(way["reason"] == "completed");
        CHECK(way["tokens"] == t + 1);
      }
    }
    const json one = report_of({"--dimension", "64", "--layers", "2", "--tokens", "1", "--executor", executor});
    CHECK(one["tokens"].size() == 1);
    CHECK(one["values"][0] == all["values"][0]);
  }
}

TEST_CASE("token_loop prints a table, writes a report, explains its programs") {
  const folder here;
  const outcome result = run({"--executor", "host", "--tokens", "8", "--json", here.at("report.json")});
  INFO(result.out << result.err);
  CHECK(result.status == 0);
  for (const char* part : {"one program a token", "one program in all", "the same", "iteration_limit", "GB/s"})
    CHECK(contains(result.out, part));
  const json report = json::parse(text_of(here / "report.json"));
  CHECK(report["program"] == "token_loop");
  CHECK(report["dimension"] == 128);
  CHECK(report["layers"] == 4);
  CHECK(report["steps_a_token"] == 9);
  CHECK(report["bytes_a_token"] == 4 * 2 * 128 * 128 * 4);

  const outcome explained = run({"--executor", "host", "--layers", "2", "--explain"});
  CHECK(explained.status == 0);
  CHECK(contains(explained.out, "loop 'tokens'"));
  CHECK(contains(explained.out, "x += W2 h (layer 2)"));
}

TEST_CASE("token_loop refuses what it cannot do, and says what it can") {
  const folder here;
  check_refused("token_loop",
                [](const strings& arguments) {
                  return run(with({"--executor", "host"}, arguments));
                },
                {
                    {{"--dimension", "0"}, "multiple of 4"},
                    {{"--dimension", "-8"}, "multiple of 4"},
                    {{"--dimension", "30"}, "multiple of 4"},
                    {{"--dimension", "9999999999999999999999"}, "multiple of 4"},
                    {{"--dimension", "16388"}, "multiple of 4"},
                    {{"--dimension", "64x"}, "multiple of 4"},
                    {{"--layers", "0"}, "whole number"},
                    {{"--layers", "1.5"}, "whole number"},
                    {{"--layers", "129"}, "whole number"},
                    {{"--tokens", "0"}, "whole number"},
                    {{"--tokens", "nan"}, "whole number"},
                    {{"--tokens", "1000001"}, "whole number"},
                    {{"--end-token", "-2"}, "whole number"},
                    {{"--dimension", "64", "--end-token", "64"}, "tokens 0 to 63"},
                    {{"--repetitions", "0"}, "whole number"},
                    {{"--executor", "resident"}, "give one of auto, host"},
                    {{"--executor", ""}, "give one of auto, host"},
                    {{"--json", ""}, "--json"},
                    {{"--json", here.at("none/x.json")}, "directory"},
                    {{"--frobnicate"}, "--frobnicate"},
                    {{"more"}, "more"},
                });
  CHECK(here.files() == 0);
}
