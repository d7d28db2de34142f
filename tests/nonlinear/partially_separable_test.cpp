// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "whilst/partially_separable.hpp"

#include <functional>

#include <Eigen/Eigenvalues>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/nonlinear/minimizer_functions.hpp"
#include "whilst/derivative_check.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::partially_separable;
using whilst::place;

namespace {

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// Of three unknowns, nothing but smooth; term e is weighted by 1 + e.
struct mixture {
  static constexpr int unknowns = 3;
  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    using std::exp, std::sin;
    return static_cast<double>(1 + e) * (exp(x[0]) * x[1] + sin(x[1] * x[2]) + x[0] * x[0] * x[2]);
  }
};
struct quartic {
  static constexpr int unknowns = 1;
  template <class S>
  WHILST_HD S operator()(index_type, const S* x) const {
    return x[0] * x[0] * x[0] * x[0];
  }
};
/// With numbers in memory of the place, and a Hessian by a formula of its own, which counts a spring twice when asked
/// to be positive: so that it shows who asked for what.
struct spring {
  static constexpr int unknowns = 2;
  const double* stiffness;
  template <class S>
  WHILST_HD S operator()(index_type e, const S* x) const {
    return stiffness[e] / 2 * (x[0] - x[1]) * (x[0] - x[1]);
  }
  template <class T>
  WHILST_HD void second_derivatives(index_type e, const T*, bool positive, T* upper) const {
    const T k = static_cast<T>(positive ? 2 * stiffness[e] : stiffness[e]);
    upper[0] = upper[2] = k;
    upper[1] = -k;
  }
};

constexpr int n = 7;
constexpr double stiffnesses[] = {3, 0.5};
/// -1: no unknown. A term that names one unknown twice, and unknown 6, which nobody names.
const std::vector<std::int32_t> mixed{0, 1, 2, 2, 4, -1, 3, 3, 5, -1, -1, 5, 5, 1, 0}, powers{0, 4, 4},
    tied{1, 3, -1, 4};

/// Calls use(term, e, slots) for each term of the function above, without springs: e counts within its kind.
template <class Use>
void for_each_smooth_term(const Use& use) {
  for (std::size_t e = 0; e < mixed.size() / 3; ++e) use(mixture{}, static_cast<index_type>(e), &mixed[3 * e]);
  for (std::size_t e = 0; e < powers.size(); ++e) use(quartic{}, static_cast<index_type>(e), &powers[e]);
}
/// The same in one piece.
struct whole {
  bool with_springs = true;
  template <class S>
  S operator()(const S* x) const {
    S sum(0.0);
    const auto at = [&](std::int32_t i) { return i < 0 ? S(0.0) : x[i]; };
    for_each_smooth_term([&](const auto& term, index_type e, const std::int32_t* slots) {
      S own[3];
      for (int k = 0; k < term.unknowns; ++k) own[k] = at(slots[k]);
      sum += term(e, static_cast<const S*>(own));
    });
    for (int e = 0; with_springs && e < 2; ++e) {
      const S d = at(tied[static_cast<std::size_t>(2 * e)]) - at(tied[static_cast<std::size_t>(2 * e + 1)]);
      sum += stiffnesses[e] / 2 * (d * d);
    }
    return sum;
  }
};

/// The function with the numbers that it points to.
template <class T>
struct example {
  buffer<double> numbers;
  partially_separable<T> f;

  explicit example(place where, bool with_springs = true) : numbers(where, 2), f(where, n) {
    numbers.upload(stiffnesses);
    f.add("mixtures", mixture{}, mixed);
    if (with_springs) f.add("springs", spring{numbers.data()}, tied);
    f.add("quartics", quartic{}, powers);
  }
};

const std::vector<double> point{0.5, -1.25, 0.75, 0.25, -0.5, 1.5, 3};  // which float holds, too

template <class T>
struct gather_entries {
  whilst::evaluated<T> from;
  index_type n;
  T* to;
  WHILST_HD auto operator()(index_type i) const {
    to[i] = from.gradient(i, from.gradient.entries(i));
    return whilst::sums{from.value(i, n)};
  }
};
struct keep_total {
  double* value;
  WHILST_HD void operator()(const whilst::sums<double, 1>& total) const { *value = total[0]; }
};
template <class V>
struct copy_entries {
  const V* from;
  V* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from[i]; }
};
template <class T>
buffer<T> on_place(place where, const std::vector<T>& v) {
  buffer<T> made(where, static_cast<index_type>(v.size()));
  made.upload(v.data());
  return made;
}

struct value_and_gradient {
  double value;
  std::vector<double> gradient;
};
template <class T>
value_and_gradient value_and_gradient_of(const whilst::objective<T>& f, const way& w, const std::vector<double>& at) {
  const buffer<T> x = on_place(w.where, std::vector<T>(at.begin(), at.end())), g(w.where, f.unknowns());
  const buffer<double> value(w.where, 1);
  whilst::program_recorder record(w.where);
  const whilst::evaluated<T> at_x = f.evaluate(record, x.data());
  record.step("f, g", f.unknowns(), gather_entries<T>{at_x, f.unknowns(), g.data()}, keep_total{value.data()});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how});
  run(program);
  const std::vector<T> found = values(g);
  return {whilst_test::value(value), {found.begin(), found.end()}};
}

/// The Hessian as it was assembled; or what was there before, where it was not wanted.
template <class T>
Eigen::SparseMatrix<double, Eigen::RowMajor> hessian_of(const whilst::objective<T>& f, const way& w,
                                                        const std::vector<double>& at, bool positive, int wanted = 1) {
  const whilst::hessian_view<T> H = f.hessian();
  const buffer<T> x = on_place(w.where, std::vector<T>(at.begin(), at.end())), entries(w.where, H.nonzeros);
  const buffer<std::int32_t> offsets(w.where, H.n + 1), columns(w.where, H.nonzeros);
  const buffer<int> flag = on_place(w.where, std::vector{wanted});
  whilst::program_recorder record(w.where);
  f.make_hessian(record, x.data(), flag.data(), positive);
  record.step("entries", H.nonzeros, copy_entries<T>{H.values, entries.data()});
  record.step("columns", H.nonzeros, copy_entries<std::int32_t>{H.column_indices, columns.data()});
  record.step("offsets", H.n + 1, copy_entries<std::int32_t>{H.row_offsets, offsets.data()});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how});
  run(program);
  const std::vector<std::int32_t> of = values(offsets), column = values(columns);
  for (std::size_t i = 0; i + 1 < of.size(); ++i)  // sorted, none twice
    for (std::int32_t k = of[i] + 1; k < of[i + 1]; ++k)
      REQUIRE(column[static_cast<std::size_t>(k) - 1] < column[static_cast<std::size_t>(k)]);
  return to_eigen(whilst::csr_matrix<T>(H.n, H.n, of, column, values(entries)));
}

/// The Hessian of f at x, dense, by one dual of all unknowns.
template <int K, class F>
Eigen::MatrixXd dense_hessian(const F& f, const double* at) {
  using number = whilst::second_order_dual<double, K>;
  number x[K];
  for (int i = 0; i < K; ++i) x[i] = number::variable(at[i], i);
  const number value = f(static_cast<const number*>(x));
  Eigen::MatrixXd H(K, K);
  for (int i = 0; i < K; ++i)
    for (int j = i; j < K; ++j) H(i, j) = H(j, i) = value.second(i, j);
  return H;
}

std::string message_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const whilst::error& e) {
    return e.what();
  }
  return "no exception";
}

}  // namespace

TEMPLATE_TEST_CASE("value and gradient of a sum of terms", "[separable][sanitizer]", float, double) {
  // A few roundings of terms of size 1 to 20.
  constexpr double tolerance = 100 * epsilon<TestType>;
  // By hand: the derivatives of w (e^a b + sin bc + a^2 c) with w = 1 + e, and those of quartics and springs.
  std::vector<double> expected(n, 0.0);
  double value = 0;
  const auto at = [](std::int32_t i) { return i < 0 ? 0.0 : point[static_cast<std::size_t>(i)]; };
  const auto add = [&](std::int32_t i, double amount) {
    if (i >= 0) expected[static_cast<std::size_t>(i)] += amount;
  };
  for (std::size_t e = 0; e < 5; ++e) {
    const std::int32_t *i = &mixed[3 * e], weight = static_cast<std::int32_t>(1 + e);
    const double a = at(i[0]), b = at(i[1]), c = at(i[2]);
    value += weight * (std::exp(a) * b + std::sin(b * c) + a * a * c);
    add(i[0], weight * (std::exp(a) * b + 2 * a * c));
    add(i[1], weight * (std::exp(a) + c * std::cos(b * c)));
    add(i[2], weight * (b * std::cos(b * c) + a * a));
  }
  for (const std::int32_t i : powers) {
    value += std::pow(at(i), 4);
    add(i, 4 * std::pow(at(i), 3));
  }
  value += 1.5 * std::pow(-1.25 - 0.25, 2) + 0.25 * std::pow(0.5, 2);
  add(1, 3 * (-1.25 - 0.25));
  add(3, -3 * (-1.25 - 0.25));
  add(4, -0.5 * 0.5);
  CHECK(whole{}(point.data()) == Approx(value).epsilon(1e-14));
  const auto checked = whilst::check_derivatives<n>(whole{}, point.data(), {.gradient = expected.data()});
  INFO(checked.message);
  CHECK(checked.agrees);

  for (const way& w : ways()) {
    INFO(w.name);
    const example<TestType> one(w.where);
    const value_and_gradient found = value_and_gradient_of(one.f, w, point);
    CHECK(found.value == Approx(value).epsilon(tolerance));
    for (std::size_t i = 0; i < n; ++i)
      CHECK(std::abs(found.gradient[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])));
    CHECK(found.gradient[6] == 0);
  }
}

TEMPLATE_TEST_CASE("the Hessian of a sum of terms", "[separable][sanitizer]", float, double) {
  constexpr double tolerance = 200 * epsilon<TestType>;
  const Eigen::MatrixXd expected = dense_hessian<n>(whole{}, point.data());
  REQUIRE(expected.cwiseAbs().maxCoeff() < 100);
  for (const way& w : ways()) {
    INFO(w.name);
    const example<TestType> one(w.where);
    const Eigen::MatrixXd found = hessian_of(one.f, w, point, false);
    CHECK((found - expected).cwiseAbs().maxCoeff() <= tolerance);
    CHECK((found == found.transpose()));
    // No entry that no term can have: 1 and 5 meet in a term, 0 and 4 do not.
    CHECK(one.f.hessian().nonzeros == (expected.array() != 0).count());
    CHECK(expected(1, 5) != 0);
    CHECK(expected(0, 4) == 0);
    // Not wanted: what was made before stays, though x is another.
    const std::vector<double> elsewhere(n, 0.125);
    CHECK((Eigen::MatrixXd(hessian_of(one.f, w, elsewhere, false, 0)) == found));
    const Eigen::MatrixXd there = hessian_of(one.f, w, elsewhere, false);
    CHECK((there - dense_hessian<n>(whole{}, elsewhere.data())).cwiseAbs().maxCoeff() <= tolerance);
  }
}

TEMPLATE_TEST_CASE("a Hessian made positive, term by term", "[separable][sanitizer]", float, double) {
  constexpr double tolerance = 1000 * epsilon<TestType>;
  // Of each term the Hessian by those of its unknowns that exist, made positive by Eigen; spread by its slots.
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(n, n);
  int changed = 0;
  for_each_smooth_term([&](const auto& term, index_type e, const std::int32_t* slots) {
    constexpr int K = std::decay_t<decltype(term)>::unknowns;
    double x[K];
    for (int k = 0; k < K; ++k) x[k] = slots[k] < 0 ? 0 : point[static_cast<std::size_t>(slots[k])];
    Eigen::MatrixXd H = dense_hessian<K>([&](const auto* at) { return term(e, at); }, x);
    for (int a = 0; a < K; ++a)
      for (int b = 0; b < K; ++b)
        if (slots[a] < 0 || slots[b] < 0) H(a, b) = 0;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> of(H);
    changed += of.eigenvalues().minCoeff() < -0.1;
    const Eigen::MatrixXd P =
        of.eigenvectors() * of.eigenvalues().cwiseMax(0).asDiagonal() * of.eigenvectors().transpose();
    for (int a = 0; a < K; ++a)
      for (int b = 0; b < K; ++b)
        if (slots[a] >= 0 && slots[b] >= 0) expected(slots[a], slots[b]) += P(a, b);
  });
  REQUIRE(changed >= 3);  // there is something to do
  for (const way& w : ways()) {
    INFO(w.name);
    const example<TestType> smooth(w.where, false);
    const Eigen::MatrixXd found = hessian_of(smooth.f, w, point, true);
    CHECK((found - expected).cwiseAbs().maxCoeff() <= tolerance);
    CHECK(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(found).eigenvalues().minCoeff() >= -tolerance);
    const Eigen::MatrixXd as_it_is = hessian_of(smooth.f, w, point, false);
    CHECK(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(as_it_is).eigenvalues().minCoeff() < -0.1);
    // Terms that bring their own Hessians are asked for positive ones.
    const example<TestType> all(w.where);
    Eigen::MatrixXd springs = Eigen::MatrixXd::Zero(n, n);
    springs(1, 1) = springs(3, 3) = 2 * 3;
    springs(1, 3) = springs(3, 1) = -2 * 3;
    springs(4, 4) = 2 * 0.5;
    const Eigen::MatrixXd both = hessian_of(all.f, w, point, true);
    CHECK((both - expected - springs).cwiseAbs().maxCoeff() <= tolerance);
  }
}

TEST_CASE("a sum of more terms than a block has threads", "[separable]") {
  constexpr index_type many = 10'000;
  std::vector<double> x = random_vector<double>(many, 3);
  for (const way& w : ways()) {
    INFO(w.name);
    const function<double> f = make_rosenbrock<double>(w.where, many);
    const value_and_gradient found = value_and_gradient_of(*f, w, x);
    // Rounding of a sum of 5000 terms of one sign.
    CHECK(found.value == Approx(rosenbrock_value(x)).epsilon(5000 * epsilon<double>));
    CHECK((found.gradient == value_and_gradient_of(*f, w, x).gradient));
    const std::vector<double> expected = rosenbrock_gradient(x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::abs(found.gradient[i] - expected[i]));
    CHECK(worst <= 2000 * epsilon<double>);  // numbers of size 400 and less
    const Eigen::SparseMatrix<double, Eigen::RowMajor> H = hessian_of(*f, w, x, false);
    CHECK(H.nonZeros() == 2 * many);
    worst = 0;
    for (int i = 0; i < many; i += 2) {
      const double a = x[static_cast<std::size_t>(i)], b = x[static_cast<std::size_t>(i) + 1];
      worst = std::max({worst, std::abs(H.coeff(i, i) - (1200 * a * a - 400 * b + 2)),
                        std::abs(H.coeff(i, i + 1) + 400 * a), std::abs(H.coeff(i + 1, i) + 400 * a),
                        std::abs(H.coeff(i + 1, i + 1) - 200)});
    }
    CHECK(worst <= 4000 * epsilon<double>);
  }
}

TEST_CASE("functions that make no sense are refused with the cure", "[separable]") {
  const auto make = [](index_type unknowns) { partially_separable<double> f(place::host(), unknowns); };
  CHECK_THAT(message_of([&] { make(0); }), contains("0 unknowns"));
  CHECK_THAT(message_of([&] { make(-3); }), contains("-3 unknowns"));
  CHECK_THAT(message_of([&] { make(index_type{1} << 31); }), contains("2147483648 unknowns"));

  partially_separable<double> f(place::host(), 4);
  const auto add = [&](const std::vector<std::int32_t>& unknowns) {
    return message_of([&] { f.add("mixtures", mixture{}, unknowns); });
  };
  CHECK_THAT(message_of([&] { whilst::minimizer<double> made(f); }), contains("no terms"));
  CHECK_THAT(add({}), contains("'mixtures'") && contains("none"));
  CHECK_THAT(add({0, 1, 2, 3}), contains("4 indexes") && contains("Give 3"));
  CHECK_THAT(add({0, 1, 2, 3, 4, 0}), contains("term 1 names unknown 4, and there are 4"));
  CHECK_THAT(add({0, 1, -2}), contains("term 0 names unknown -2"));
  // What was refused left nothing behind.
  CHECK(add({0, 1, 2}) == "no exception");
  {
    const whilst::minimizer<double> made(f, {.method = "newton"});
    CHECK(f.hessian().nonzeros == 9);
  }
  CHECK_THAT(add({0, 1, 2}), contains("in use already"));
}

TEST_CASE("a function can be moved before and after a minimizer was made of it", "[separable]") {
  example<double> one(place::host());
  partially_separable<double> moved = std::move(one.f);
  const value_and_gradient before = value_and_gradient_of(moved, ways().front(), point);
  partially_separable<double> again(place::host(), 1);
  again = std::move(moved);
  CHECK(again.unknowns() == n);
  CHECK((value_and_gradient_of(again, ways().front(), point).gradient == before.gradient));
}

}  // namespace whilst_test
