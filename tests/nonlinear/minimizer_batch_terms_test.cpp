// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

// Batches of functions of several terms, up to one that fills a block; and what only a GPU can show.

#include <algorithm>
#include <Eigen/Sparse>

#include "tests/catch.hpp"
#include "tests/nonlinear/minimizer_batch_problems.hpp"

namespace whilst_test {

using whilst::minimizer_batch;
using whilst::minimizer_batch_options;
using whilst::minimizer_batch_report;
using rosenbrocks = all_alike<rosenbrock_pair>;

namespace {

const auto the_same = [](whilst::place) { return rosenbrocks{}; };

template <class T>
std::vector<T> extended_rosenbrock_starts(whilst::index_type problems, whilst::index_type n) {
  std::vector<T> x;
  for (whilst::index_type k = 0; k < problems; ++k)
    for (whilst::index_type j = 0; j < n; ++j)
      x.push_back(static_cast<T>((j % 2 ? 1 : -1.2) * (1 + 0.1 * noise(k * n + j) * (k > 0))));
  return x;
}

/// Threads for functions of many unknowns.
std::vector<int> many_lanes(const std::string& executor) {
  return executor == "host" ? std::vector<int>{0} : std::vector<int>{0, 1, 32, 64, 256};
}

struct sized {
  std::string method;
  whilst::index_type n;
};

}  // namespace

TEMPLATE_TEST_CASE("functions of many unknowns are minimized as each by itself is", "[minimizer_batch]", float,
                   double) {
  using T = TestType;
  for (const auto& [method, n] : {sized{"lbfgs", 256}, sized{"bfgs", 64}, sized{"newton", 30}, sized{"lbfgs", 2}}) {
    for (const whilst::index_type problems : {1, 5}) {
      for (const std::string& executor : batch_executors()) {
        for (const int lanes : many_lanes(executor)) {
          INFO(method << ", n = " << n << ", " << executor << ", " << lanes << " lanes, " << problems << " problems");
          const minimizer_batch_options options{.method = method,
                                                .tolerances = {.gradient = sizeof(T) == 4 ? 1e-2 : 1e-8},
                                                .executor = executor,
                                                .lanes = lanes};
          const std::vector<std::int32_t> pairs = neighbours(n, 2, 2);
          minimizer_batch<T, rosenbrocks> batch(the_same, problems, n, pairs, options);
          const std::vector<T> start = extended_rosenbrock_starts<T>(problems, n);
          std::vector<T> x = start;
          const minimizer_batch_report report = batch.solve(x);
          INFO(report.message());
          REQUIRE(report.all_converged());
          for (const T xi : x) REQUIRE(std::abs(xi - T(1)) <= options.tolerances.gradient / 0.39 + 8 * epsilon<T>);
          if (executor != "host") continue;
          for (whilst::index_type k = 0; k < problems; ++k) {
            std::vector<T> expected = part(start, k, n);
            const whilst::minimize_report alone = minimize_alone<T>(rosenbrock_pair{}, n, pairs, expected, options);
            REQUIRE(report[k].iterations == alone.iterations());
            REQUIRE(report[k].evaluations == alone.evaluations);
            REQUIRE(report[k].value == Approx(alone.value).epsilon(4 * epsilon<T>));
            for (std::size_t j = 0; j < expected.size(); ++j)
              REQUIRE(x[static_cast<std::size_t>(k * n) + j] == Approx(expected[j]).epsilon(4 * epsilon<T>));
          }
        }
      }
    }
  }
}

namespace {

/// A line of springs, each point tied to its place and pulled by a load of its problem's own; the last term has one
/// unknown.
struct spring {
  static constexpr int unknowns = 2;
  whilst::index_type points, problem;
  WHILST_HD static double stiffness(whilst::index_type i) { return static_cast<double>(1 + i % 7); }
  WHILST_HD static double load(whilst::index_type problem, whilst::index_type i) {
    return static_cast<double>((i * 37 + problem * 11) % 13 - 6);
  }
  template <class S>
  WHILST_HD S operator()(whilst::index_type e, const S* x) const {
    S f = 0.25 * (x[0] * x[0]) - load(problem, e) * x[0];
    if (e + 1 < points) f += stiffness(e) / 2 * ((x[0] - x[1]) * (x[0] - x[1]));
    return f;
  }
};
struct springs {
  whilst::index_type points;
  WHILST_HD spring of_problem(whilst::index_type k) const { return {points, k}; }
};

}  // namespace

TEST_CASE("lines of springs come to rest where a factorization says", "[minimizer_batch]") {
  const whilst::index_type problems = 40, n = 33;
  for (const std::string method : {"newton", "bfgs"}) {
    for (const std::string& executor : batch_executors()) {
      for (const int lanes : many_lanes(executor)) {
        INFO(method << ", " << executor << ", " << lanes << " lanes");
        minimizer_batch<double, springs, whilst::method_list<whilst::newton, whilst::bfgs>> batch(
            [&](whilst::place) { return springs{n}; }, problems, n, neighbours(n, 2, 1),
            {.method = method, .executor = executor, .lanes = lanes});
        std::vector<double> x(static_cast<std::size_t>(problems * n));
        const minimizer_batch_report report = batch.solve(x);
        REQUIRE(report.all_converged());
        if (method == "newton") CHECK(report.most_iterations() <= 2);  // one, and perhaps one of rounding
        for (whilst::index_type k = 0; k < problems; k += 13) {
          std::vector<Eigen::Triplet<double>> entries;
          Eigen::VectorXd b(n);
          for (int i = 0; i < n; ++i) {
            b[i] = spring::load(k, i);
            entries.emplace_back(i, i, 0.5);
            if (i + 1 == n) break;
            const double s = spring::stiffness(i);
            for (const auto& [row, column, value] :
                 {std::tuple(i, i, s), std::tuple(i + 1, i + 1, s), std::tuple(i, i + 1, -s), std::tuple(i + 1, i, -s)})
              entries.emplace_back(row, column, value);
          }
          Eigen::SparseMatrix<double> A(n, n);
          A.setFromTriplets(entries.begin(), entries.end());
          const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factors(A);
          const Eigen::VectorXd expected = factors.solve(b);
          // Eigenvalues are 1/2 at least: x is no further off than twice the gradient, whose norm is 1e-8.
          for (int i = 0; i < n; ++i)
            REQUIRE(x[static_cast<std::size_t>(k * n + i)] == Approx(expected[i]).margin(2e-8));
        }
      }
    }
  }
}

#if WHILST_WITH_CUDA
TEMPLATE_TEST_CASE("a batch of minimizations on a GPU repeats its bits, beside another, and is captured",
                   "[minimizer_batch][gpu]", float, double) {
  using T = TestType;
  if (!has_gpu()) {
    WARN("skipped: no GPU");
    return;
  }
  const whilst::index_type problems = 3000, n = 4;
  const std::vector<T> start = extended_rosenbrock_starts<T>(problems, n);
  const whilst::cuda::stream stream = whilst::cuda::make_stream(), other_stream = whilst::cuda::make_stream();
  for (const int lanes : {1, 4, 32, 64}) {
    INFO(lanes << " lanes");
    const minimizer_batch_options options{
        .tolerances = {.gradient = sizeof(T) == 4 ? 1e-2 : 1e-8}, .executor = "batch", .lanes = lanes};
    minimizer_batch<T, rosenbrocks> batch(the_same, problems, n, neighbours(n, 2, 2), options);
    minimizer_batch<T, rosenbrocks> other(the_same, problems, n, neighbours(n, 2, 2), options);
    std::vector<T> first = start;
    const minimizer_batch_report expected = batch.solve(first);
    whilst::buffer<T> x(whilst::place::gpu(0), problems * n), other_x(whilst::place::gpu(0), problems * n);
    std::vector<T> found(first.size());
    for (int repeat = 0; repeat < 3; ++repeat) {
      x.upload(start.data());
      other_x.upload(start.data());
      batch.enqueue(stream.get(), x.data());
      other.enqueue(other_stream.get(), other_x.data());
      const minimizer_batch_report report = batch.wait();
      x.download(found.data());
      REQUIRE((found == first));
      for (whilst::index_type k = 0; k < problems; ++k) REQUIRE(report[k].evaluations == expected[k].evaluations);
      other.wait();
      other_x.download(found.data());
      REQUIRE((found == first));
    }
    x.upload(start.data());
    launch_and_wait(captured_batch(stream.get(), [&] { batch.enqueue(stream.get(), x.data()); }), stream.get());
    x.download(found.data());
    REQUIRE((found == first));
  }
}
#endif

}  // namespace whilst_test
