// Functions of callbacks with products of their Hessians.

#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/called_objective.hpp"

namespace whilst_test {

using whilst::called_objective;
using whilst::index_type;
using whilst::minimize_report;
using whilst::minimizer_options;
using whilst::reason;
using whilst::stream_handle;

namespace {

std::vector<double> rosenbrock_product(const std::vector<double>& x, const double* v) {
  std::vector<double> product(x.size());
  for (std::size_t i = 0; i < x.size(); i += 2) {
    const double across = -400 * x[i];
    product[i] = (1200 * x[i] * x[i] - 400 * x[i + 1] + 2) * v[i] + across * v[i + 1];
    product[i + 1] = across * v[i] + 200 * v[i + 1];
  }
  return product;
}

struct counted_rosenbrock {
  int evaluations = 0, products = 0;
  called_objective<double> f;
  explicit counted_rosenbrock(index_type n)
      : f(
            whilst::place::host(), n,
            [this](stream_handle, index_type n, const double* x, double* value, double* gradient) {
              const std::vector<double> at(x, x + n), g = rosenbrock_gradient(at);
              *value = rosenbrock_value(at);
              std::copy(g.begin(), g.end(), gradient);
              ++evaluations;
            },
            [this](stream_handle, index_type n, const double* x, const double* v, double* Hv) {
              const std::vector<double> product = rosenbrock_product({x, x + n}, v);
              std::copy(product.begin(), product.end(), Hv);
              ++products;
            }) {}
};

}  // namespace

TEST_CASE("callbacks with products do for methods that multiply", "[minimizer]") {
  constexpr index_type n = 20;
  for (const char* method : {"newton-cg", "trust-region", "levenberg-marquardt", "dogleg"}) {
    INFO(method);
    counted_rosenbrock one(n);
    const minimizer_options options{.method = method, .tolerances = {.gradient = 1e-8}, .executor = "host"};
    std::vector<double> x = rosenbrock_start<double>(n);
    const minimize_report r = whilst::minimizer<double>(one.f, options).solve(x);
    CHECK(one.evaluations == r.evaluations);
    CHECK(one.products >= r.inner_iterations);
    CHECK(r.inner_iterations > 0);
    CHECK(r.reason() == reason::converged_gradient);
    for (const double entry : x) CHECK(std::abs(entry - 1) <= 1e-6);
  }
}

TEST_CASE("products by a callback stay at the point that was wanted", "[minimizer]") {
  const counted_rosenbrock one(4);
  const std::vector<double> x{0.5, -1, 2, 0.25}, other{3, 4, 5, 6}, v{1, -2, 3, 0.5};
  const int yes = 1, no = 0;
  whilst::program_recorder record(whilst::place::host());
  one.f.prepare_products(record, x.data(), &yes, true);
  one.f.prepare_products(record, other.data(), &no, true);
  one.f.multiply(record, v.data());
  whilst::program program = std::move(record).finish();
  program.prepare({.how = whilst::executor::host});
  program.enqueue(nullptr);
  program.wait();
  const double* const product = one.f.products().product.pieces;
  CHECK((std::vector<double>(product, product + 4) == rosenbrock_product(x, v.data())));
  CHECK(one.f.products().diagonal.pieces == nullptr);
}

TEST_CASE("a callback's product is no matrix", "[minimizer]") {
  counted_rosenbrock one(4);
  for (const char* method : {"newton", "newton-cg", "trust-region"}) {
    minimizer_options options{.method = method, .executor = "host"};
    options.hessian = "assembled";
    std::string message = "no exception";
    try {
      whilst::minimizer<double> made(one.f, options);
    } catch (const whilst::error& e) {
      message = e.what();
    }
    CHECK_THAT(message, contains("'" + std::string(method) + "'") && contains("but as products"));
    CHECK_THAT(message, contains("Use newton-cg with hessian auto"));
  }
}

}  // namespace whilst_test
