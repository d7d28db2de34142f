// Every way to run a recorded method gives the same bits.

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <utility>

#include "solvers/linear/rectangular/transpose_on_place.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/linear/matrix_on_place.hpp"

namespace whilst_test {

using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::report;

namespace {

template <class T>
struct outcome {
  report told;
  std::vector<T> x;
};

/// Two solves by one solver: one ends at its limit in the middle of a trip, the other when it has converged or, for
/// large systems, at a limit, too. Under sanitizers the first alone.
template <class T>
std::vector<outcome<T>> solve_twice(const whilst::csr_matrix<T>& A, const linear_solver_options& options) {
  std::vector<outcome<T>> both;
  linear_solver<T> solver(A, options);
  for (const whilst::index_type limit : {7, A.rows() > 10000 ? 9 : 400}) {
    solver.set_max_iterations(limit);
    outcome<T> one{{}, std::vector<T>(static_cast<std::size_t>(A.rows()), 0)};
    one.told = solver.solve(random_vector<T>(A.rows(), 23), one.x);
    CHECK(one.told.executor() == options.executor);
    both.push_back(std::move(one));
    if (under_sanitizers) break;
  }
  return both;
}

template <class T>
void check_same_bits(const std::vector<outcome<T>>& a, const std::vector<outcome<T>>& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    CHECK((a[k].x == b[k].x));
    CHECK(a[k].told.reason() == b[k].told.reason());
    CHECK(a[k].told.iterations() == b[k].told.iterations());
    CHECK(a[k].told.residual_norm() == b[k].told.residual_norm());
    const auto &ha = a[k].told.history(), &hb = b[k].told.history();
    REQUIRE(ha.size() == hb.size());
    bool same = true;
    for (std::size_t i = 0; i < ha.size(); ++i)
      same = same && ha[i].iteration == hb[i].iteration && ha[i].residual_norm == hb[i].residual_norm;
    CHECK(same);
  }
}

template <class Use>
void for_each_method(const Use& use) {
  for (const auto& method : whilst::linear_methods<double>())
    for (const char* preconditioner : {"none", "jacobi"}) use(method.name, preconditioner);
}

template <class T>
constexpr double tolerance = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());

}  // namespace

TEMPLATE_TEST_CASE("stream and graph give the same bits, however unrolled and overlapped", "[bits][gpu]", float,
                   double) {
  if (executors().size() == 1) {
    WARN("skipped: no GPU");
    return;
  }
  // Some 10 blocks, whose last one adds up by one warp, and more than 32.
  for (const char* problem : {"poisson2d:48", "poisson2d:200"}) {
    const auto A = whilst::make_gallery<TestType>(problem).matrix;
    for_each_method([&](const std::string& method, const char* preconditioner) {
      linear_solver_options options{.method = method, .preconditioner = preconditioner, .rtol = tolerance<TestType>};
      options.executor = "stream";
      options.unroll = 1;
      options.programmatic_launch = false;
      const auto reference = solve_twice(A, options);
      CHECK(reference[0].told.iterations() == 7);
      for (const char* executor : {"stream", "graph"}) {
        for (const int unroll : {1, 3, 4, 16}) {
          for (const bool overlap : {false, true}) {
            INFO(problem << ", " << method << ", " << preconditioner << ", " << executor << ", unroll " << unroll
                         << (overlap ? ", overlapped" : ""));
            options.executor = executor;
            options.unroll = unroll;
            options.programmatic_launch = overlap;
            check_same_bits(reference, solve_twice(A, options));
          }
        }
      }
    });
  }
}

#if WHILST_WITH_CUDA

namespace {

/// A solve by the program itself, which can be told to delay its blocks.
template <class T>
class bare_solve {
 public:
  bare_solve(const whilst::csr_matrix<T>& A, const whilst::linear_method<T>& method, whilst::preconditioner_kind M)
      : matrix_(A, gpu, /*check_pointers=*/true),
        b_(gpu, A.rows()),
        x_(gpu, A.rows()),
        outcome_(gpu, 1),
        history_(gpu, 512) {
    b_.upload(random_vector<T>(A.rows(), 23).data());
    whilst::solve_request<T> request = matrix_.request();
    if (method.needs.transpose) {
      transpose_ = whilst::transpose_on_place<T>(A, gpu, request.offsets_64);
      transpose_.put_into(request);
    }
    request.preconditioner = M;
    solve_ = method.record(request);
    whilst::program& program = *solve_.recorded;
    program.set(solve_.b, static_cast<const T*>(b_.data()));
    program.set(solve_.x, x_.data());
    program.set(solve_.outcome, outcome_.data());
    program.set(solve_.outer_settings, whilst::control_settings{.limit = 20, .rtol = tolerance<T>});
    program.set(
        solve_.inner_settings,
        whilst::control_settings{.limit = 150, .history = history_.data(), .history_capacity = history_.size()});
  }

  struct result {
    std::vector<T> x;
    whilst::index_type iterations;
    whilst::reason why;
    double residual_norm;
    std::vector<std::pair<whilst::index_type, double>> history;
    bool operator==(const result&) const = default;
  };
  result run(const whilst::run_settings& settings) {
    x_.upload(std::vector<T>(static_cast<std::size_t>(x_.size()), 0).data());
    solve_.recorded->prepare(settings);
    solve_.recorded->enqueue(nullptr);
    solve_.recorded->wait();
    const auto outcome = copied(outcome_.data(), 1).front();
    result r{copied(x_.data(), x_.size()), outcome.iterations, outcome.why, outcome.residual_norm, {}};
    const auto records = copied(history_.data(), copied(solve_.inner, 1).front().history_count);
    for (const whilst::history_record& record : records) r.history.emplace_back(record.iteration, record.residual_norm);
    return r;
  }

 private:
  template <class Value>
  static std::vector<Value> copied(const Value* on_gpu, whilst::index_type count) {
    std::vector<Value> host(static_cast<std::size_t>(count));
    REQUIRE(cudaMemcpy(host.data(), on_gpu, host.size() * sizeof(Value), cudaMemcpyDeviceToHost) == cudaSuccess);
    return host;
  }

  const whilst::place gpu = whilst::place::gpu(0);
  whilst::matrix_on_place<T> matrix_;
  whilst::transpose_on_place<T> transpose_;
  whilst::buffer<T> b_, x_;
  whilst::buffer<whilst::solve_outcome> outcome_;
  whilst::buffer<whilst::history_record> history_;
  whilst::recorded_solve<T> solve_;
};

}  // namespace

TEMPLATE_TEST_CASE("random delays in blocks change no bit of a method, overlapped or not", "[bits][gpu]", float,
                   double) {
  if (executors().size() == 1) {
    WARN("skipped: no GPU");
    return;
  }
  // Steps of one block, of one cluster, and of a grid.
  for (const char* problem : {"poisson2d:20", "poisson2d:60", "poisson2d:120"}) {
    const auto A = whilst::make_gallery<TestType>(problem).matrix;
    for (const auto& method : whilst::linear_methods<TestType>()) {
      for (const auto M : {whilst::preconditioner_kind::none, whilst::preconditioner_kind::jacobi}) {
        bare_solve<TestType> solve(A, method, M);
        whilst::run_settings settings{.how = whilst::executor::graph, .unroll = 4, .programmatic_launch = false};
        const auto reference = solve.run(settings);
        INFO(problem << ", " << method.name << (M == whilst::preconditioner_kind::none ? "" : ", jacobi"));
        CHECK(reference.iterations > 10);
        for (const bool overlap : {false, true}) {
          for (const unsigned seed : {0u, 1u, 12345u, 987654321u}) {
            INFO((overlap ? "overlapped, " : "") << "seed " << seed);
            settings.programmatic_launch = overlap;
            settings.delay_seed = seed;
            CHECK((solve.run(settings) == reference));
          }
        }
      }
    }
  }
}

#endif

TEMPLATE_TEST_CASE("the host gives the same bits for any number of threads, however unrolled", "[bits]", float,
                   double) {
  // Just large enough for the host to use threads: from 32 pieces on, of 512 rows or 2048 other indexes.
  const auto A = whilst::make_gallery<TestType>("poisson2d:260").matrix;
#if defined(_OPENMP)
  const int before = omp_get_max_threads();
#endif
  for_each_method([&](const std::string& method, const char* preconditioner) {
    if (under_sanitizers && (sizeof(TestType) == 8 || std::string(preconditioner) == "none")) return;
    linear_solver_options options{.method = method, .preconditioner = preconditioner, .rtol = tolerance<TestType>};
    options.executor = "host";
    options.unroll = 1;
    std::vector<outcome<TestType>> reference;
    for (const int threads : {1, 3}) {
      INFO(method << ", " << preconditioner << ", " << threads << " threads");
#if defined(_OPENMP)
      omp_set_num_threads(threads);
#endif
      options.unroll = threads;
      const auto result = solve_twice(A, options);
      CHECK(result[0].told.iterations() == 7);
      if (threads == 1) reference = result;
      check_same_bits(reference, result);
    }
  });
#if defined(_OPENMP)
  omp_set_num_threads(before);
#endif
}

}  // namespace whilst_test
