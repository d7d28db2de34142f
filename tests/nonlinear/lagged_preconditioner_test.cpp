// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

// newton-cg with a lagged amg, whose levels are made anew only where systems have come to take more iterations.

#include "tests/catch.hpp"
#include "tests/nonlinear/membrane.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::minimize_report;
using whilst::minimizer_options;

namespace {

struct minimized {
  minimize_report told;
  std::vector<double> x;
};
minimized found_by(own_minimizer<double>& one, const membrane& what) {
  minimized made{{}, std::vector<double>(static_cast<std::size_t>(what.m * what.m), 0.0)};
  made.told = one.solve(made.x);
  CHECK(made.told.converged());
  return made;
}
minimizer_options with_refresh(const std::string& refresh, const membrane& what, const std::string& executor = "auto") {
  minimizer_options options = newton_with("amg,coarsest_rows=50,refresh=" + refresh, executor);
  options.tolerances.gradient = 2 * attainable_gradient<double>(what);
  return options;
}
minimized found(const minimizer_options& options, const membrane& what) {
  own_minimizer<double> one(maker_of<double>(what), options);
  return found_by(one, what);
}

}  // namespace

TEST_CASE("a lagged amg is not made anew while Hessians change little", "[minimizer][amg]") {
  // The springs' stiffness, 1 + 3 hardening d^2, ends within 1 to 1.5.
  const membrane what{32, 0.01, 0.1};
  for (const std::string& executor : recorded_executors()) {
    INFO(executor);
    const minimized lagged = found(with_refresh("lagged", what, executor), what),
                    changed = found(with_refresh("changed", what, executor), what);
    // The first Hessian is that which the levels were made from, at x = 0.
    CHECK(lagged.told.refreshes == 0);
    REQUIRE(changed.told.iterations() >= 3);
    CHECK(changed.told.refreshes >= changed.told.iterations() - 1);
    CHECK(what.gradient_norm(lagged.x) <= 4 * attainable_gradient<double>(what));
    CHECK(lagged.told.iterations() <= changed.told.iterations() + 2);
    // At worst, each of the systems takes half as many again, and two.
    CHECK(2 * lagged.told.inner_iterations <= 3 * changed.told.inner_iterations + 4 * (lagged.told.iterations() + 1));
  }
}

TEST_CASE("a lagged amg is made anew where Hessians jump", "[minimizer][amg][sanitizer]") {
  // Made where the springs are soft, used where they are stiffer by up to 3e4.
  const membrane what{24, 1e4, 1};
  minimizer_options never = with_refresh("lagged", what, "host");
  never.amg.refresh_growth = 1e9;
  const minimized kept = found(never, what);
  CHECK(kept.told.refreshes == 0);
  minimized first;
  for (const std::string& executor : recorded_executors()) {
    INFO(executor);
    const minimized lagged = found(with_refresh("lagged", what, executor), what),
                    changed = found(with_refresh("changed", what, executor), what);
    CHECK(lagged.told.refreshes >= 1);
    CHECK(2 * lagged.told.refreshes < changed.told.refreshes);
    CHECK(3 * lagged.told.inner_iterations < 2 * kept.told.inner_iterations);
    CHECK(lagged.told.inner_iterations <= 2 * changed.told.inner_iterations);
    CHECK(what.gradient_norm(lagged.x) <= 4 * attainable_gradient<double>(what));
    if (executor == "stream") first = lagged;
    if (executor == "graph" && !first.x.empty()) CHECK((lagged.x == first.x));
  }
}

TEST_CASE("a minimization with a lagged amg does not depend on the ones before", "[minimizer][amg]") {
  const membrane what{24, 1e3, 1};
  for (const std::string& executor : recorded_executors()) {
    INFO(executor);
    minimizer_options options = with_refresh("auto", what, executor);
    own_minimizer<double> one(maker_of<double>(what), options);
    const minimized before = found_by(one, what);
    CHECK(before.told.refreshes >= 1);
    const minimized again = found_by(one, what);
    CHECK((again.x == before.x));
    CHECK(again.told.inner_iterations == before.told.inner_iterations);
    // Nor on unroll and threads.
    options.unroll = 3;
    options.threads = 3;
    const minimized otherwise = found(options, what);
    CHECK((otherwise.x == before.x));
    CHECK(otherwise.told.refreshes == before.told.refreshes);
  }
}

}  // namespace whilst_test
