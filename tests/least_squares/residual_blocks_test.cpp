// compiled by nvcc where CUDA is on
// Blocks of residuals as terms: values, gradients, matrices of Gauss and Newton, and products of Hessians with vectors,
// held against dense algebra on the host.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <functional>

#include <Eigen/Dense>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/least_squares/bundle_adjustment.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/derivative_check.hpp"
#include "whilst/nonlinear/minimize/hessian_operators.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::partially_separable;
using whilst::place;

namespace {

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// Three residuals of four unknowns; block e is weighted by 1 + e.
struct bent {
  static constexpr int unknowns = 4, residuals = 3;
  template <class S>
  WHILST_HD void operator()(index_type e, const S* x, S* r) const {
    using std::exp, std::sin;
    const double weight = static_cast<double>(1 + e);
    r[0] = weight * (x[0] * x[1] - 1.0);
    r[1] = sin(x[2]) + x[3] * x[0];
    r[2] = weight * (exp(x[1]) - x[3]);
  }
};
/// No sum of squares: its Hessian is its own, and has negative eigenvalues.
struct saddle {
  static constexpr int unknowns = 2;
  template <class S>
  WHILST_HD S operator()(index_type, const S* x) const {
    return x[0] * x[1] + x[1] * x[1] * x[1];
  }
};
/// |x|^2 / 2, by formulas that are not finite where the second unknown is 0.
struct own_formulas {
  static constexpr int unknowns = 2;
  template <class S>
  WHILST_HD S operator()(index_type, const S* x) const {
    return 0.5 * x[0] * x[0] + 0.5 * x[1] * x[1];
  }
  template <class T>
  WHILST_HD void second_derivatives(index_type, const T* x, bool, T* upper) const {
    upper[0] = 1;
    upper[1] = x[1] == 0 ? T(NAN) : T(0);
    upper[2] = x[1] / x[1];
  }
};
/// r = x^2 - 2, with its Jacobian and nothing else: the Hessian is 2 x J' r's derivative, not J'J.
struct jacobian_alone {
  static constexpr int unknowns = 1;
  [[maybe_unused]] static constexpr int residuals = 1;  // by clang, what only a requires expression asks for is unused
  template <class S>
  WHILST_HD S operator()(index_type, const S* x) const {
    const S r = x[0] * x[0] - 2.0;
    return 0.5 * r * r;
  }
  template <class T>
  WHILST_HD void jacobian(index_type, const T* x, T* J) const {
    J[0] = 2 * x[0];
  }
};

constexpr int n = 8;
/// -1: none. A block that names an unknown twice, and unknown 7, which nobody names.
const std::vector<std::int32_t> bends{0, 1, 2, 3, 3, 4, -1, 5, 2, 2, 6, 0}, saddles{5, 6, 1, 1, -1, 4};
const std::vector<double> point{0.5, -1.25, 0.75, 0.25, -0.5, 1.5, 0.125, 3};  // which float holds, too

template <class T>
partially_separable<T> make_example(place where, bool with_saddles) {
  partially_separable<T> f(where, n);
  f.add_residuals("bends", bent{}, bends);
  if (with_saddles) f.add("saddles", saddle{}, saddles);
  return f;
}

/// r and J of all blocks, by columns of central differences: they have nothing in common with duals.
struct dense_residuals {
  Eigen::VectorXd r;
  Eigen::MatrixXd J;
};
Eigen::VectorXd residuals_at(const std::vector<double>& x) {
  Eigen::VectorXd r(9);
  for (std::size_t e = 0; e < 3; ++e) {
    double own[4];
    for (std::size_t k = 0; k < 4; ++k) {
      const std::int32_t i = bends[4 * e + k];
      own[k] = i < 0 ? 0 : x[static_cast<std::size_t>(i)];
    }
    bent{}(static_cast<index_type>(e), own, r.data() + 3 * e);
  }
  return r;
}
dense_residuals residuals_by_differences() {
  dense_residuals made{residuals_at(point), Eigen::MatrixXd(9, n)};
  constexpr double h = 1e-3;  // the error of fourth order is h^4, 1e-12, and rounding is epsilon / h, 1e-13
  for (std::size_t j = 0; j < n; ++j) {
    const auto moved = [&](double by) {
      std::vector<double> x = point;
      x[j] += by;
      return residuals_at(x);
    };
    made.J.col(static_cast<Eigen::Index>(j)) = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h);
  }
  return made;
}

template <class T>
struct copy_gathered {
  whilst::gathered<T> from;
  T* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from(i, from.entries(i)); }
};
template <class T>
struct share_of_value {
  whilst::evaluated<T> from;
  index_type n;
  WHILST_HD auto operator()(index_type i) const { return whilst::sums{from.value(i, n)}; }
};
struct keep_total {
  double* value;
  WHILST_HD void operator()(const whilst::sums<double, 1>& total) const { *value = total[0]; }
};
template <class T, class Operator>
struct copy_diagonal {
  Operator A;
  T* to;
  WHILST_HD void operator()(index_type i) const { to[i] = A.diagonal(i); }
};

template <class T>
buffer<T> on_place(place where, const std::vector<double>& v) {
  buffer<T> made(where, static_cast<index_type>(v.size()));
  made.upload(std::vector<T>(v.begin(), v.end()).data());
  return made;
}
template <class T>
Eigen::VectorXd dense(const buffer<T>& v) {
  const std::vector<T> host = values(v);
  return Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>(host.data(), static_cast<Eigen::Index>(host.size()))
      .template cast<double>();
}

struct found_derivatives {
  double value;
  Eigen::VectorXd gradient, assembled, assembled_diagonal, product, diagonal;
};
/// All of them at x, products with v; not made anew where not wanted.
template <class T>
found_derivatives derivatives(const whilst::objective<T>& f, const way& w, const std::vector<double>& at,
                              const std::vector<double>& along, bool positive, int wanted = 1) {
  const index_type size = f.unknowns();
  const buffer<T> x = on_place<T>(w.where, at), v = on_place<T>(w.where, along);
  std::vector<buffer<T>> to;
  for (int k = 0; k < 5; ++k) to.emplace_back(w.where, size);
  const buffer<double> value(w.where, 1);
  buffer<int> flag(w.where, 1);
  flag.upload(&wanted);
  whilst::descent_state as_it_is{};
  as_it_is.magnify(1);
  buffer<whilst::descent_state> state(w.where, 1);
  state.upload(&as_it_is);
  // Not const: clang 14 holds that a class with a const one in it is not trivially copyable.
  auto H = whilst::assembled_hessian<T>::of(f, state.data());
  auto A = whilst::matrix_free_hessian<T>::of(f, state.data());
  whilst::program_recorder record(w.where);
  const whilst::evaluated<T> at_x = f.evaluate(record, x.data());
  record.step("f", size, share_of_value<T>{at_x, size}, keep_total{value.data()});
  record.step("g", size, copy_gathered<T>{at_x.gradient, to[0].data()});
  f.make_hessian(record, x.data(), flag.data(), positive);
  f.prepare_products(record, x.data(), flag.data(), positive);
  whilst::product(record, "H v", H, v.data(), to[1].data(), whilst::product_alone{});
  record.step("diagonal of H", size, copy_diagonal<T, decltype(H)>{H, to[2].data()});
  whilst::product(record, "A v", A, v.data(), to[3].data(), whilst::product_alone{});
  record.step("diagonal of A", size, copy_diagonal<T, decltype(A)>{A, to[4].data()});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how});
  run(program);
  return {whilst_test::value(value), dense(to[0]), dense(to[1]), dense(to[2]), dense(to[3]), dense(to[4])};
}

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const whilst::error& e) {
    return e.what();
  }
  return "no exception";
}

template <class Residuals>
void check_duals(const Residuals& residuals, const std::vector<double>& at) {
  constexpr int K = Residuals::unknowns;
  REQUIRE(at.size() == K);
  const whilst::detail::sum_of_residuals<Residuals> term{residuals};
  double J[Residuals::residuals * K];
  term.jacobian(0, at.data(), J);
  for (int m = 0; m < Residuals::residuals; ++m) {
    const auto one = [&](const auto* x) {
      std::remove_cvref_t<decltype(*x)> r[Residuals::residuals];
      residuals(0, x, r);
      return r[m];
    };
    const auto checked = whilst::check_derivatives<K>(one, at.data(), {.gradient = J + m * K});
    INFO(checked.message);
    CHECK(checked.agrees);
  }
}

}  // namespace

TEST_CASE("Jacobians of blocks agree with differences", "[residuals]") {
  check_duals(bent{}, {0.5, -1.25, 0.75, 0.25});
  check_duals(held{point.data(), 3}, {0.5});
  const bundle made(3, 4, 0, 0.1);
  std::vector<double> at;  // of block 0
  for (std::size_t k = 0; k < 12; ++k) at.push_back(made.start[static_cast<std::size_t>(made.unknowns[k])]);
  check_duals(reprojection{made.seen.data(), 1}, at);
}

TEMPLATE_TEST_CASE("value, gradient and J'J of blocks", "[residuals][sanitizer]", float, double) {
  // Sums of some ten numbers up to 30; differences are good to 1e-11.
  constexpr double tolerance = 500 * epsilon<TestType> + 1e-10;
  const dense_residuals expected = residuals_by_differences();
  const Eigen::MatrixXd H = expected.J.transpose() * expected.J;
  const std::vector<double> v{1, -2, 0.5, 0.25, 3, -1, 2, 1};
  for (const way& w : ways()) {
    for (const bool positive : {false, true}) {
      INFO(w.name << ", " << positive);
      const partially_separable<TestType> f = make_example<TestType>(w.where, false);
      const found_derivatives found = derivatives(f, w, point, v, positive);
      CHECK(found.value == Approx(0.5 * expected.r.squaredNorm()).epsilon(20 * epsilon<TestType>));
      CHECK((found.gradient - expected.J.transpose() * expected.r).cwiseAbs().maxCoeff() <= tolerance);
      CHECK((found.assembled - H * to_eigen(v)).cwiseAbs().maxCoeff() <= tolerance);
      CHECK((found.product - H * to_eigen(v)).cwiseAbs().maxCoeff() <= tolerance);
      CHECK((found.assembled_diagonal - H.diagonal()).cwiseAbs().maxCoeff() <= tolerance);
      CHECK((found.diagonal - H.diagonal()).cwiseAbs().maxCoeff() <= tolerance);
      CHECK(found.product[7] == 0);
    }
  }
}

TEMPLATE_TEST_CASE("products agree with the matrix where terms are mixed", "[residuals][sanitizer]", float, double) {
  constexpr double tolerance = 500 * epsilon<TestType>;
  for (const way& w : ways()) {
    const partially_separable<TestType> f = make_example<TestType>(w.where, true);
    for (const bool positive : {false, true}) {
      INFO(w.name << ", " << positive);
      Eigen::MatrixXd H(n, n);
      for (int j = 0; j < n; ++j) {
        std::vector<double> unit(n, 0.0);
        unit[static_cast<std::size_t>(j)] = 1;
        const found_derivatives found = derivatives(f, w, point, unit, positive);
        CHECK((found.product - found.assembled).cwiseAbs().maxCoeff() <= tolerance);
        CHECK((found.diagonal - found.assembled_diagonal).cwiseAbs().maxCoeff() <= tolerance);
        CHECK(std::abs(found.diagonal[j] - found.product[j]) <= tolerance);
        H.col(j) = found.product;
      }
      CHECK((H - H.transpose()).cwiseAbs().maxCoeff() <= tolerance);
      const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(H).eigenvalues();
      // Saddles x_0 x_1 have -1 and 1; what they add is bent by J'J, which does not reach all of them.
      if (positive) {
        CHECK(eigenvalues[0] >= -tolerance);
      } else {
        CHECK(eigenvalues[0] < -0.01);
      }
    }
  }
}

TEST_CASE("formulas for an unknown that is not there are not read", "[residuals]") {
  const std::vector<double> x{0.5, 3}, v{2, -1};
  for (const way& w : ways()) {
    INFO(w.name);
    partially_separable<double> f(w.where, 2);
    f.add("own", own_formulas{}, std::vector<std::int32_t>{0, 1, 0, -1});
    const found_derivatives found = derivatives(f, w, x, v, false);
    for (const Eigen::VectorXd& product : {found.assembled, found.product}) CHECK((product == Eigen::Vector2d(4, -1)));
    for (const Eigen::VectorXd& diagonal : {found.assembled_diagonal, found.diagonal})
      CHECK((diagonal == Eigen::Vector2d(2, 1)));
  }
}

TEST_CASE("a Jacobian alone does not make a matrix of Gauss and Newton", "[residuals]") {
  for (const way& w : ways()) {
    INFO(w.name);
    partially_separable<double> f(w.where, 1);
    f.add("alone", jacobian_alone{}, std::vector<std::int32_t>{0});
    const found_derivatives found = derivatives(f, w, {0.5}, {2}, false);
    CHECK(found.assembled[0] == -5);  // 2 (6 x^2 - 4)
    CHECK(found.product[0] == -5);
  }
}

TEST_CASE("products stay those of the last point that was wanted", "[residuals]") {
  const std::vector<double> v(n, 1.0), elsewhere(n, 0.3);
  for (const way& w : ways()) {
    INFO(w.name);
    const partially_separable<double> f = make_example<double>(w.where, true);
    const found_derivatives first = derivatives(f, w, point, v, false);
    const found_derivatives kept = derivatives(f, w, elsewhere, v, false, 0);
    const found_derivatives other = derivatives(f, w, elsewhere, v, false);
    CHECK((kept.product == first.product));
    CHECK((kept.diagonal == first.diagonal));
    CHECK_FALSE((other.product == first.product));
    CHECK_FALSE((kept.gradient == first.gradient));
  }
}

TEST_CASE("products of cameras and points agree with the matrix", "[residuals]") {
  const bundle made(20, 200, 0.5, 0.01);  // 2000 blocks of 12 unknowns, 780 unknowns
  const std::vector<double> v = random_vector<double>(made.size(), 3);
  for (const way& w : ways()) {
    INFO(w.name);
    const bundle::on_place<double> function(w.where, made);
    const found_derivatives found = derivatives(function.f, w, made.start, v, false);
    // The same with J in full, which is made by duals of a single block.
    const int blocks = static_cast<int>(made.unknowns.size()) / 12;
    Eigen::VectorXd expected = Eigen::VectorXd::Zero(made.size()), gradient = expected;
    for (int e = 0; e < blocks; ++e) {
      double x[12], J[24], r[2];
      Eigen::Matrix<double, 12, 1> own;
      for (int k = 0; k < 12; ++k) {
        const auto i = static_cast<std::size_t>(made.unknowns[static_cast<std::size_t>(12 * e + k)]);
        x[k] = made.start[i];
        own[k] = v[i];
      }
      const reprojection of{made.seen.data(), 1};
      whilst::detail::sum_of_residuals<reprojection>{of}.jacobian(e, x, J);
      of(e, x, r);
      const Eigen::Map<const Eigen::Matrix<double, 2, 12, Eigen::RowMajor>> Je(J);
      const Eigen::Matrix<double, 12, 1> product = Je.transpose() * (Je * own);
      const Eigen::Matrix<double, 12, 1> slope = Je.transpose() * Eigen::Map<const Eigen::Vector2d>(r);
      for (int k = 0; k < 12; ++k) {
        expected[made.unknowns[static_cast<std::size_t>(12 * e + k)]] += product[k];
        gradient[made.unknowns[static_cast<std::size_t>(12 * e + k)]] += slope[k];
      }
    }
    const int first[] = {0, 1, 2, 3, 4, 5, 9 + 5};
    for (const int i : first) {
      expected[i] += 1e4 * v[static_cast<std::size_t>(i)];
      gradient[i] += 1e4 * (made.start[static_cast<std::size_t>(i)] - made.truth[static_cast<std::size_t>(i)]);
    }
    // Sums of 100 products where one may cancel another.
    const double size = expected.cwiseAbs().maxCoeff();
    CHECK((found.product - expected).cwiseAbs().maxCoeff() <= 1000 * epsilon<double> * size);
    CHECK((found.assembled - expected).cwiseAbs().maxCoeff() <= 1000 * epsilon<double> * size);
    CHECK((found.gradient - gradient).cwiseAbs().maxCoeff() <= 1000 * epsilon<double> * gradient.cwiseAbs().maxCoeff());
    CHECK((found.diagonal - found.assembled_diagonal).cwiseAbs().maxCoeff() <=
          1000 * epsilon<double> * found.diagonal.maxCoeff());
  }
}

TEST_CASE("what cannot be blocks of residuals is refused", "[residuals]") {
  const auto adding = [](const std::vector<std::int32_t>& unknowns) {
    return message_of([&] {
      partially_separable<double> f(place::host(), 4);
      f.add_residuals("bends", bent{}, unknowns);
    });
  };
  CHECK(adding({0, 1, 2, 3}) == "no exception");
  CHECK_THAT(adding({0, 1, 2, 4}), contains("'bends'") && contains("unknown 4"));
  CHECK_THAT(adding({0, 1, -2, 3}), contains("unknown -2"));
  CHECK_THAT(adding({0, 1, 2}), contains("Give 4 for each"));
  CHECK_THAT(adding({}), contains("there are none"));
}

}  // namespace whilst_test
