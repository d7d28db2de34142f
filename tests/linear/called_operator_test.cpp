// compiled by nvcc where CUDA is on
// Operators that are callbacks, and where the memory of callbacks is.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/host_device.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::reason;
using whilst::report;

namespace {

/// A tridiagonal matrix: these on its diagonal and before it, -1 after it.
struct band {
  int diagonal, before;
  /// Entry i of A x.
  template <class T>
  WHILST_HD T row(index_type n, const T* x, index_type i) const {
    return static_cast<T>(diagonal) * x[i] + (i > 0 ? static_cast<T>(before) * x[i - 1] : T(0)) -
           (i < n - 1 ? x[i + 1] : T(0));
  }
};
constexpr band second_difference{2, -1}, symmetric_band{3, -1}, unsymmetric_band{4, -2};

#if defined(__CUDACC__)
template <class T>
__global__ void apply_band(index_type n, band A, const T* x, T* y) {
  const index_type i = blockIdx.x * static_cast<index_type>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = A.row(n, x, i);
}
template <class T>
__global__ void apply_half(index_type n, const T* x, T* y) {
  const index_type i = blockIdx.x * static_cast<index_type>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] / 2;
}
#endif

/// Callbacks for either place: a null stream tells that it is the host.
template <class T>
typename linear_solver<T>::operator_callback band_callback(band A, int* calls = nullptr) {
  return [=](whilst::stream_handle stream, index_type n, const T* x, T* y) {
    if (calls) ++*calls;
    if (!stream) {
      for (index_type i = 0; i < n; ++i) y[i] = A.row(n, x, i);
      return;
    }
#if defined(__CUDACC__)
    apply_band<<<static_cast<unsigned>((n + 127) / 128), 128, 0, stream>>>(n, A, x, y);
    WHILST_CUDA("applying a band", cudaGetLastError());
#endif
  };
}
template <class T>
typename linear_solver<T>::preconditioner_callback half_callback() {
  return [](whilst::stream_handle stream, index_type n, const T* r, T* z) {
    if (!stream) {
      for (index_type i = 0; i < n; ++i) z[i] = r[i] / 2;
      return;
    }
#if defined(__CUDACC__)
    apply_half<<<static_cast<unsigned>((n + 127) / 128), 128, 0, stream>>>(n, r, z);
    WHILST_CUDA("halving a vector", cudaGetLastError());
#endif
  };
}

std::vector<std::string> executors_that_call() {
  std::vector<std::string> names = executors();
  names.erase(std::remove(names.begin(), names.end(), "resident"), names.end());
  return names;
}

/// ||b - A x|| / ||b||, in long double.
template <class T>
double band_residual(band A, const std::vector<T>& b, const std::vector<T>& x) {
  long double rr = 0, bb = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const long double before = i > 0 ? x[i - 1] : T(0), after = i + 1 < x.size() ? x[i + 1] : T(0), bi = b[i];
    const long double r = bi - (A.diagonal * static_cast<long double>(x[i]) + A.before * before - after);
    rr += r * r;
    bb += bi * bi;
  }
  return static_cast<double>(std::sqrt(rr / bb));
}

template <class Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

/// WHILST_EXECUTOR while it lives.
struct wished_executor {
  explicit wished_executor(const char* name) { ::setenv("WHILST_EXECUTOR", name, 1); }
  ~wished_executor() { ::unsetenv("WHILST_EXECUTOR"); }
};

/// Each method without a preconditioner and with one.
std::vector<std::pair<std::string, bool>> with_and_without(const std::vector<std::string>& methods) {
  std::vector<std::pair<std::string, bool>> all;
  for (const std::string& method : methods)
    for (const bool preconditioned : {false, true}) all.emplace_back(method, preconditioned);
  return all;
}

}  // namespace

TEMPLATE_TEST_CASE("systems whose matrix is a callback", "[linear][callback][sanitizer]", float, double) {
  // By their dominant diagonals ||x|| <= ||b||, so that rounding of a residual is some 10 epsilon of ||b||.
  const double rtol = 100 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const std::string& executor : executors_that_call()) {
    for (const index_type n : {1, 3, 300}) {
      for (const bool symmetric : {true, false}) {
        const band A = symmetric ? symmetric_band : unsymmetric_band;
        const auto kind = symmetric ? matrix_kind::definite : matrix_kind::unsymmetric;
        for (const auto& [method, preconditioned] : with_and_without(methods_on(executor, kind))) {
          INFO(executor << ", " << method << ", n = " << n << (symmetric ? ", symmetric" : "")
                        << (preconditioned ? ", preconditioned" : ""));
          int calls = 0;
          const linear_solver_options options{.method = method, .rtol = rtol, .executor = executor};
          linear_solver<TestType> solver =
              preconditioned
                  ? linear_solver<TestType>(n, band_callback<TestType>(A, &calls), half_callback<TestType>(), options)
                  : linear_solver<TestType>(n, band_callback<TestType>(A, &calls), options);
          const std::vector<TestType> b = random_vector<TestType>(n, 11);
          std::vector<TestType> x(b.size(), 0), again = x;
          const report told = solver.solve(b, x);
          CHECK(told.converged());
          CHECK(told.nonzeros() == 0);
          CHECK(told.rows() == n);
          CHECK(told.preconditioner() == (preconditioned ? "user" : "none"));
          CHECK(band_residual(A, b, x) <= 2 * rtol);
          if (executor != "graph") CHECK(calls >= told.iterations());
          solver.solve(b, again);
          CHECK((again == x));
        }
      }
    }
  }
}

TEST_CASE("a callback's products are those of the matrix", "[linear][callback]") {
  // -u'' = 1 with u = 0 at both ends: the differences are exact, u_i = (i + 1)(n - i) / 2.
  constexpr index_type n = 100;
  for (const std::string& executor : executors_that_call()) {
    INFO(executor);
    linear_solver<double> solver(n, band_callback<double>(second_difference), {.rtol = 1e-12, .executor = executor});
    const std::vector<double> b(n, 1.0);
    std::vector<double> x(n, 0.0);
    // By symmetry b lies in a Krylov space of half the dimension.
    const report told = solver.solve(b, x);
    CHECK(told.converged());
    CHECK(told.iterations() <= n / 2 + 1);
    // The inverse's norm is less than (n + 1)^2 / 8 in the maximum norm; ||r|| <= 1e-12 ||b|| = 1e-11.
    for (index_type i = 0; i < n; ++i)
      CHECK(std::abs(x[static_cast<std::size_t>(i)] - static_cast<double>((i + 1) * (n - i)) / 2) <=
            1e-11 * (n + 1) * (n + 1) / 8);
  }
}

TEST_CASE("an operator that is a callback is refused what it cannot have", "[linear][callback]") {
  const linear_solver<double>::operator_callback A = band_callback<double>(second_difference);
  const std::string making = "making a linear solver: ";
  CHECK(message_of([&] { linear_solver<double>(3, A, {.preconditioner = "jacobi"}); }) ==
        making +
            "preconditioner jacobi wants the diagonal, and the operator tells of products alone. Use none, or give "
            "a preconditioner of your own");
  CHECK(message_of([&] { linear_solver<double>(-1, A); }) == making + "the number of rows is -1. Give 0 or more");
  CHECK(message_of([&] { linear_solver<double>(3, linear_solver<double>::operator_callback()); }) ==
        making + "the operator's callback is empty. Give a function that makes y = A x");
  CHECK(message_of([&] { linear_solver<double>(3, A, linear_solver<double>::preconditioner_callback(), {}); }) ==
        making + "the preconditioner's callback is empty. Give one that makes z = M r, or leave it out");
  linear_solver<double> solver(3, A, {.executor = "host"});
  const std::string none = "updating a matrix's values: the solver was made for an operator without a matrix";
  const std::vector<double> values(7, 1.0);
  CHECK(message_of([&] { solver.update_values(std::span<const double>(values)); }).find(none) == 0);
  CHECK(message_of([&] { solver.update_values(convection_diffusion<double>(3)); }).find(none) == 0);
  CHECK(message_of([&] { solver.bind_values(values.data()); }).find(none) == 0);
  if (whilst::cuda::device_count() > 0)
    CHECK(message_of([&] { linear_solver<double>(3, A, {.executor = "resident"}); }).find("callbacks") !=
          std::string::npos);
  std::vector<double> nothing;
  linear_solver<double> empty(0, A, {.executor = "host"});
  CHECK(empty.solve(nothing, nothing).converged());
}

TEST_CASE("callbacks say where their memory is", "[linear][callback]") {
  const auto plain = whilst::make_gallery<double>("poisson2d:8").matrix;
  const bool has_gpu = whilst::cuda::device_count() > 0;
  bool called_on_host = false;
  const auto copy = [&](whilst::stream_handle stream, index_type n, const double* r, double* z) {
    called_on_host = stream == nullptr;
    if (called_on_host) std::copy(r, r + n, z);
  };
  const std::vector<double> b = random_vector<double>(64, 1);
  const auto check = [&] {
    linear_solver<double> solver(plain, copy, {.executor = "auto", .callback_memory = "host"});
    CHECK(solver.executor() == "host");
    std::vector<double> x(64, 0);
    CHECK(solver.solve(b, x).converged());
    CHECK(called_on_host);
    CHECK(relative_residual(plain, b, x) <= 1e-8);
    CHECK(linear_solver<double>(64, band_callback<double>(second_difference), {.callback_memory = "host"}).executor() ==
          "host");
  };
  check();
  for (const char* wished : {"graph", "stream", "host"}) {
    const wished_executor in_environment(wished);
    check();
  }
  for (const char* executor : {"graph", "stream", "resident"})
    CHECK(message_of([&] { linear_solver<double>(plain, copy, {.executor = executor, .callback_memory = "host"}); }) ==
          "choosing an executor: executor " + std::string(executor) +
              " gives callbacks device memory, and callback_memory is host. Use executor host or auto, or "
              "callbacks that take device memory");
  const auto on_device = [&](const char* executor) {
    return message_of([&] {
      linear_solver<double> solver(plain, copy, {.executor = executor, .callback_memory = "device"});
      CHECK(solver.executor() != "host");
    });
  };
  CHECK(on_device("host").find("executor host gives callbacks host memory, and callback_memory is device") !=
        std::string::npos);
  CHECK((on_device("auto") == "no exception") == has_gpu);
  if (!has_gpu) CHECK(on_device("auto").find("callback_memory is device, and there is no GPU") != std::string::npos);
  CHECK(message_of([&] {
          linear_solver<double>(plain, copy, {.callback_memory = "pinned"});
        }).find("Use one of any, host, device") != std::string::npos);
  // Where nothing is called back it says nothing.
  for (const std::string& executor : executors())
    CHECK(linear_solver<double>(plain, {.executor = executor, .callback_memory = "host"}).executor() == executor);
}

}  // namespace whilst_test
