// compiled by nvcc where CUDA is on
// Operators and preconditioners in parts, which record steps of their own.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <cmath>
#include <limits>
#include <memory>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/linear/linear_operator.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::linear_solver;
using whilst::linear_solver_options;
using whilst::place;
using whilst::report;

namespace {

/// y = A x for the band (-2, 4, -1), or (-1, 4, -1) if symmetric, in two steps: y = 4 x, then the neighbours.
template <class T>
struct set_diagonal_part {
  const T* x;
  T* y;
  WHILST_HD void operator()(index_type i) const { y[i] = 4 * x[i]; }
};
template <class T>
struct add_neighbours {
  index_type n;
  T before;
  const T* x;
  T* y;
  WHILST_HD void operator()(index_type i) const {
    y[i] += (i > 0 ? before * x[i - 1] : T(0)) - (i < n - 1 ? x[i + 1] : T(0));
  }
};
template <class T>
struct set_to {
  T value;
  T* d;
  WHILST_HD void operator()(index_type i) const { d[i] = value; }
};
template <class T>
class band final : public whilst::linear_operator<T> {
 public:
  band(place where, index_type n, bool symmetric) : where_(where), n_(n), before_(symmetric ? -1 : -2) {}
  place where() const override { return where_; }
  index_type rows() const override { return n_; }
  void apply(whilst::recorder& run, const T* x, T* y) const override {
    run.step("y = 4 x", n_, set_diagonal_part<T>{x, y});
    run.step("y -= neighbours", n_, add_neighbours<T>{n_, before_, x, y});
  }
  bool has_diagonal() const override { return true; }
  void diagonal(whilst::recorder& run, T* d) const override { run.step("4", n_, set_to<T>{4, d}); }

 private:
  place where_;
  index_type n_;
  T before_;
};

/// M = D^-1 (2 D - A) D^-1 with D = 4: two terms of a Neumann series, which uses the operator that prepare gets.
template <class T>
struct divide_by_4 {
  const T* r;
  T* z;
  WHILST_HD void operator()(index_type i) const { z[i] = r[i] / 4; }
};
template <class T>
struct correct {
  const double* factor;
  const T *Az, *r;
  T* z;
  WHILST_HD void operator()(index_type i) const {
    z[i] = static_cast<T>((2 * static_cast<double>(z[i]) - static_cast<double>(Az[i]) / 4) / *factor);
  }
};
template <class T>
class neumann final : public whilst::preconditioner<T> {
 public:
  void take_memory(index_type n, whilst::workspace& memory) override {
    n_ = n;
    Az_ = memory.take<T>(n);
  }
  bool made_from_operator() const override { return true; }
  void prepare(whilst::recorder&, const whilst::linear_operator<T>& A, const double* factor) const override {
    A_ = &A;
    factor_ = factor;
  }
  void apply(whilst::recorder& run, const T* r, T* z) const override {
    run.step("z = r / 4", n_, divide_by_4<T>{r, z});
    A_->apply(run, z, Az_);
    run.step("z = (2 z - A z / 4) / factor", n_, correct<T>{factor_, Az_, r, z});
  }

 private:
  index_type n_ = 0;
  T* Az_ = nullptr;
  mutable const whilst::linear_operator<T>* A_ = nullptr;
  mutable const double* factor_ = nullptr;
};

/// M = 1/4, made of r rounded to float; methods may round it if `offers` says so.
template <class T>
struct round_to_float {
  const T* r;
  float* rounded;
  WHILST_HD void operator()(index_type i) const { rounded[i] = static_cast<float>(r[i]); }
};
template <class T>
struct quarter {
  const float* rounded;
  T* z;
  WHILST_HD void operator()(index_type i) const { z[i] = static_cast<T>(rounded[i]) / 4; }
};
template <class T>
class quarter_in_float final : public whilst::preconditioner<T> {
 public:
  explicit quarter_in_float(bool offers) : offers_(offers) {}
  void take_memory(index_type n, whilst::workspace& memory) override {
    n_ = n;
    rounded_ = memory.take<float>(n);
  }
  void apply(whilst::recorder& run, const T* r, T* z) const override {
    run.step("r rounded", n_, round_to_float<T>{r, rounded_});
    run.step("z = r / 4", n_, quarter<T>{rounded_, z});
  }
  float* rounded_residual() const override { return offers_ ? rounded_ : nullptr; }
  void apply_to_rounded(whilst::recorder& run, T* z) const override {
    ++taken;
    run.step("z = r / 4", n_, quarter<T>{rounded_, z});
  }
  mutable int taken = 0;

 private:
  bool offers_;
  index_type n_ = 0;
  float* rounded_ = nullptr;
};

template <class T>
whilst::csr_matrix<T> band_matrix(int n, bool symmetric) {
  triplets<T> t(n);
  const double before = symmetric ? -1 : -2;
  for (int i = 0; i < n; ++i) {
    if (n == 1) {
      t.row({{0, 4}});
    } else if (i == 0) {
      t.row({{0, 4}, {1, -1}});
    } else if (i == n - 1) {
      t.row({{i - 1, before}, {i, 4}});
    } else {
      t.row({{i - 1, before}, {i, 4}, {i + 1, -1}});
    }
  }
  return t.matrix();
}

place place_for(const std::string& executor) { return executor == "host" ? place::host() : place::gpu(0); }

template <class Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no exception";
}

}  // namespace

TEMPLATE_TEST_CASE("operators and preconditioners in parts", "[linear][parts][sanitizer]", float, double) {
  // By the dominant diagonal ||x|| <= ||b||, so that rounding of a residual is some 10 epsilon of ||b||.
  const double rtol = 100 * static_cast<double>(std::numeric_limits<TestType>::epsilon());
  for (const std::string& executor : executors()) {
    if (executor == "resident") continue;
    for (const bool symmetric : {true, false}) {
      for (const std::string& method :
           methods_on(executor, symmetric ? matrix_kind::definite : matrix_kind::unsymmetric)) {
        for (const int n : {1, 3, 700}) {
          for (const char* preconditioner : {"none", "jacobi", "neumann"}) {
            INFO(executor << ", " << method << ", n = " << n << ", " << preconditioner);
            const bool own = preconditioner == std::string("neumann");
            linear_solver<TestType> solver(std::make_shared<band<TestType>>(place_for(executor), n, symmetric),
                                           own ? std::make_shared<neumann<TestType>>() : nullptr,
                                           {.method = method,
                                            .preconditioner = own ? "none" : preconditioner,
                                            .rtol = rtol,
                                            .executor = executor});
            const std::vector<TestType> b = random_vector<TestType>(n, 11);
            std::vector<TestType> x(b.size(), 0), again = x;
            const report told = solver.solve(b, x);
            CHECK(told.converged());
            CHECK(told.preconditioner() == (own ? "user" : preconditioner));
            CHECK(relative_residual(band_matrix<TestType>(n, symmetric), b, x) <= 2 * rtol);
            if (own && n == 700) {  // the square of Jacobi's error a step
              linear_solver<TestType> plain(std::make_shared<band<TestType>>(place_for(executor), n, symmetric),
                                            nullptr, {.method = method, .rtol = rtol, .executor = executor});
              std::vector<TestType> y(b.size(), 0);
              CHECK(told.iterations() < plain.solve(b, y).iterations());
            }
            solver.solve(b, again);
            CHECK((again == x));
          }
        }
      }
    }
  }
}

TEST_CASE("a preconditioner in parts for a matrix", "[linear][parts]") {
  const auto A = band_matrix<double>(500, true);
  const std::vector<double> b = random_vector<double>(500, 2);
  for (const std::string& executor : executors()) {
    if (executor == "resident") continue;
    INFO(executor);
    linear_solver<double> solver(A, std::make_shared<neumann<double>>(), {.rtol = 1e-12, .executor = executor});
    std::vector<double> x(b.size(), 0);
    CHECK(solver.solve(b, x).converged());
    CHECK(relative_residual(A, b, x) <= 1.01e-12);
    // New values reach the products, those of the preconditioner, too: half the matrix has twice the solution.
    std::vector<double> half(A.values().begin(), A.values().end());
    for (double& value : half) value /= 2;
    solver.update_values(std::span<const double>(half));
    std::vector<double> twice(b.size(), 0);
    CHECK(solver.solve(b, twice).converged());
    // ||A^-1|| <= 1/2, and both residuals are within 1e-12.
    CHECK((to_eigen(twice) - 2 * to_eigen(x)).norm() <= 2.1e-12 * to_eigen(b).norm());
  }
}

TEST_CASE("methods round r for a preconditioner that asks for it", "[linear][parts][sanitizer]") {
  constexpr int n = 700;
  const std::vector<double> b = random_vector<double>(n, 5);
  for (const std::string& executor : executors()) {
    if (executor == "resident") continue;
    for (const std::string& method : methods_on(executor, matrix_kind::definite)) {
      INFO(executor << ", " << method);
      std::vector<double> x[2]{std::vector<double>(b.size(), 0), std::vector<double>(b.size(), 0)};
      for (const bool offers : {false, true}) {
        const auto M = std::make_shared<quarter_in_float<double>>(offers);
        linear_solver<double> solver(std::make_shared<band<double>>(place_for(executor), n, true), M,
                                     {.method = method, .rtol = 1e-6, .executor = executor});
        CHECK(solver.solve(b, x[offers]).converged());
        if (method == "cg" || method == "minres" || method == "bicgstab") CHECK((M->taken > 0) == offers);
      }
      CHECK((x[0] == x[1]));  // a number is rounded the same way wherever that is done
    }
  }
}

TEST_CASE("a matrix with 64-bit offsets, read as it is", "[linear][parts]") {
  const auto A = band_matrix<double>(300, true);
  std::vector<std::int64_t> offsets;
  for (index_type i = 0; i <= A.rows(); ++i) offsets.push_back(A.row_offset(i));
  const double* const values = A.values().data();
  whilst::csr_operator<double, std::int64_t, whilst::constant_slot<const double>> wide{
      A.rows(), offsets.data(), A.column_indices().data(), {&values}, 1, A.nonzeros()};
  for (const char* preconditioner : {"none", "jacobi"}) {
    for (const std::string& method : methods_on("host")) {
      std::shared_ptr<whilst::linear_operator<double>> parts = whilst::make_csr_operator<double>(place::host(), wide);
      linear_solver<double> solver(parts, nullptr, {.method = method, .preconditioner = preconditioner, .rtol = 1e-12});
      const std::vector<double> b = random_vector<double>(A.rows(), 3);
      std::vector<double> x(b.size(), 0);
      INFO(method << ", " << preconditioner);
      CHECK(solver.solve(b, x).converged());
      CHECK(relative_residual(A, b, x) <= 1.01e-12);
    }
  }
}

TEST_CASE("refused values leave those before in use", "[linear]") {
  const std::vector<double> b = random_vector<double>(50, 2);
  linear_solver<double> solver(band_matrix<double>(50, true), {.rtol = 1e-12, .executor = "host"});
  std::vector<double> x(b.size(), 0), again = x;
  {
    const auto pattern = band_matrix<double>(50, true);
    std::vector<double> twice(pattern.values().begin(), pattern.values().end());
    for (double& value : twice) value *= 2;
    solver.update_values(whilst::csr_matrix<double>(50, 50, pattern.row_offsets_32(), pattern.column_indices(), twice));
  }
  solver.solve(b, x);
  CHECK(message_of([&] { solver.update_values(std::span<const double>(b)); }) != "no exception");
  CHECK(message_of([&] { solver.bind_values(nullptr); }) != "no exception");
  CHECK(solver.solve(b, again).converged());
  CHECK((again == x));
}

TEST_CASE("parts are refused what they cannot have", "[linear][parts]") {
  const std::string making = "making a linear solver: ";
  const auto on_host = [] { return std::make_shared<band<double>>(place::host(), 3, true); };
  CHECK(message_of([&] { linear_solver<double>(std::shared_ptr<whilst::linear_operator<double>>(), nullptr, {}); }) ==
        making + "the operator is empty. Give one");
  CHECK(message_of([&] {
          linear_solver<double>(band_matrix<double>(3, true), std::shared_ptr<whilst::preconditioner<double>>(), {});
        }) == making + "the preconditioner is empty. Give one that makes z = M r, or leave it out");
  linear_solver<double> solver(on_host(), nullptr, {});
  CHECK(solver.executor() == "host");
  const std::vector<double> values(7, 1.0);
  CHECK(message_of([&] {
          solver.update_values(std::span<const double>(values));
        }).find("the solver was made for an operator without a matrix") != std::string::npos);
  if (whilst::cuda::device_count() > 0) {
    CHECK(message_of([&] {
            linear_solver<double>(on_host(), nullptr, {.executor = "graph"});
          }).find("the operator is on the host, and executor graph runs on GPU 0") != std::string::npos);
    CHECK(message_of([&] {
            linear_solver<double>(std::make_shared<band<double>>(place::gpu(0), 3, true), nullptr,
                                  {.executor = "resident"});
          }).find("Use graph or stream") != std::string::npos);
  }
}

}  // namespace whilst_test
