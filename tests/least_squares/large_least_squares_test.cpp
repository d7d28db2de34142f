// compiled by nvcc where CUDA is on
// Nonlinear least squares of any number of unknowns: residual blocks, by the methods that want second derivatives, with
// the matrix and without it.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include <Eigen/Dense>

#include "kernels/problems/test_functions/test_functions.hpp"
#include "tests/catch.hpp"
#include "tests/least_squares/bundle_adjustment.hpp"
#include "tests/least_squares/residual_functions.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/derivative_check.hpp"
#include "whilst/nonlinear/minimize/dogleg.hpp"

namespace whilst_test {

using whilst::reason;
namespace problems = whilst::test_functions;

namespace {

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

struct linear_system {
  Eigen::MatrixXd J;
  Eigen::VectorXd b;
  explicit linear_system(int n) : J(Eigen::MatrixXd::Zero(3 * (n - 2), n)), b(3 * (n - 2)) {
    for (int e = 0; e + 2 < n; ++e)
      for (int m = 0; m < 3; ++m) {
        b[3 * e + m] = straight::right_hand_side(e, m);
        for (int k = 0; k < 3; ++k) J(3 * e + m, e + k) = straight::factor(e, m, k);
      }
  }
};

/// One residual of a problem of More, Garbow and Hillstrom.
template <class Problem>
struct one_residual {
  static constexpr int unknowns = Problem::unknowns, residuals = 1;
  Problem problem;
  template <class S>
  WHILST_HD void operator()(index_type e, const S* x, S* r) const {
    r[0] = problem(e, x);
  }
};
template <class Problem>
partially_separable<double> make_published(place where, const Problem& problem) {
  std::vector<std::int32_t> unknowns;
  for (index_type e = 0; e < problem.count(); ++e)
    for (std::int32_t k = 0; k < Problem::unknowns; ++k) unknowns.push_back(k);
  partially_separable<double> f(where, Problem::unknowns);
  f.add_residuals(Problem::name, one_residual<Problem>{problem}, unknowns);
  return f;
}

template <class Residuals>
void check_first_residual(const Residuals& residuals, std::vector<double> at) {
  const auto one = [&](const auto* x) {
    std::remove_cvref_t<decltype(*x)> r[Residuals::residuals];
    residuals(1, x, r);
    return r[0];
  };
  const auto checked = whilst::check_derivatives<Residuals::unknowns>(one, at.data());
  INFO(checked.message);
  CHECK(checked.agrees);
}

}  // namespace

TEST_CASE("derivatives of the functions of these tests", "[least squares]") {
  const double measured[] = {1, 2};
  check_first_residual(straight{}, {0.5, -1, 2});
  check_first_residual(tridiagonal{}, {0.5, -1, 2});
  check_first_residual(product_is_one{}, {0.5, -1});
  check_first_residual(wall{}, {0.5});
  check_first_residual(off_by{measured}, {0.5});
}

TEMPLATE_TEST_CASE("one step is exact where residuals are linear", "[least squares][sanitizer]", float, double) {
  constexpr int n = under_sanitizers ? 120 : 300;
  const linear_system system(n);
  const Eigen::VectorXd exact = system.J.colPivHouseholderQr().solve(system.b);
  const double least = 0.5 * (system.J * exact - system.b).squaredNorm();
  REQUIRE(least > 1);  // inconsistent
  const Eigen::VectorXd singular = system.J.jacobiSvd().singularValues();
  REQUIRE(singular[0] / singular[n - 1] < 5);
  for (const std::string& executor : recorded_executors()) {
    const place where = whilst::place_of_executor(executor);
    // Cholesky's step has rounding alone; the squared condition is below 25.
    {
      INFO(executor);
      const partially_separable<TestType> f = make_straight<TestType>(where, n);
      std::vector<TestType> x(n, 1);
      const minimize_report r =
          minimized<TestType>(f, {.method = "newton", .max_iterations = 1, .executor = executor}, x);
      CHECK(r.iterations() == 1);
      CHECK((to_eigen(x) - exact).cwiseAbs().maxCoeff() <= 200 * epsilon<TestType>);
      CHECK(r.value == Approx(least).epsilon(50 * epsilon<TestType>));
    }
    std::vector<variant> all = variants;
    all.push_back({"lbfgs", "auto"});
    for (const variant& v : all) {
      const bool by_gradients = std::string(v.method) == "lbfgs";
      INFO(executor << ", " << v);
      const partially_separable<TestType> f = make_straight<TestType>(where, n);
      std::vector<TestType> x(n, 1);
      minimizer_options options = v.options(executor);
      // A line search sees values alone, whose differences end where the gradient's square is lost in f's rounding.
      options.tolerances.gradient = (sizeof(TestType) == 4 ? 1e-3 : 1e-9) * (by_gradients ? 100 : 1);
      const minimize_report r = minimized<TestType>(f, options, x);
      CHECK(r.reason() == reason::converged_gradient);
      // ||x - exact|| <= ||(J'J)^-1|| ||g||, where the least singular value of J is above 1.
      CHECK(singular[n - 1] > 1);
      CHECK((to_eigen(x) - exact).norm() <= options.tolerances.gradient + 200 * epsilon<TestType>);
      CHECK((r.inner_iterations > 0 || by_gradients));
    }
  }
}

TEST_CASE("steps are damped as they say, and as short as the region", "[least squares]") {
  constexpr int n = 60;
  const linear_system system(n);
  const Eigen::MatrixXd H = system.J.transpose() * system.J;
  const std::vector<double> start(n, 20.0);
  /// Where so many steps lead.
  const auto after = [&](minimizer_options options, index_type steps) {
    const partially_separable<double> f = make_straight<double>(whilst::place_of_executor(options.executor), n);
    options.max_iterations = steps;
    std::vector<double> x = start;
    CHECK(minimized<double>(f, options, x).iterations() == steps);
    return to_eigen(x).eval();
  };
  const auto gradient = [&](const Eigen::VectorXd& x) {
    return (system.J.transpose() * (system.J * x - system.b)).eval();
  };
  for (const std::string& executor : recorded_executors()) {
    for (const variant& v : variants) {
      INFO(executor << ", " << v);
      minimizer_options options = v.options(executor);
      const Eigen::VectorXd g = gradient(to_eigen(start)), first = after(options, 1) - to_eigen(start);
      if (std::string(v.method) == "dogleg" || std::string(v.method) == "trust-region") {
        // The first radius is a tenth of ||x||, and the way to the minimum is nearly ten of them.
        const double radius = 0.1 * to_eigen(start).norm(), curvature = g.dot(H * g);
        CHECK(first.norm() == Approx(radius).epsilon(1e-12));
        const double cauchy = std::min(g.squaredNorm() / curvature, radius / g.norm());
        const auto falls = [&](const Eigen::VectorXd& d) { return -g.dot(d) - 0.5 * d.dot(H * d); };
        CHECK(falls(first) >= falls(-cauchy * g) * (1 - 1e-12));
      }
      if (std::string(v.method) != "levenberg-marquardt") continue;
      options.first_damping = 2;
      // The model is exact here: Nielsen's damping becomes a third, Marquardt's a tenth.
      double damping = 2;
      Eigen::VectorXd x = to_eigen(start);
      for (const index_type steps : {1, 2, 3}) {
        const Eigen::VectorXd next = after(options, steps), d = next - x;
        const Eigen::VectorXd rest = H * d + damping * H.diagonal().cwiseProduct(d) + gradient(x);
        CHECK(rest.norm() <= 1.001e-3 * gradient(x).norm());  // what conjugate gradients are asked for
        x = next;
        damping *= std::string(v.damping) == "classic" ? 0.1 : 1.0 / 3;
      }
    }
  }
}

TEST_CASE("the dogleg by hand", "[least squares]") {
  using dogleg = whilst::dogleg<double, whilst::assembled_hessian>;
  const Eigen::Matrix3d H = Eigen::Vector3d(1, 4, 30).asDiagonal();
  const Eigen::Vector3d g(1, -2, 3), newton = -H.inverse() * g;
  const double to_least = g.squaredNorm() / g.dot(H * g);
  const auto falls = [&](const Eigen::Vector3d& d) { return -g.dot(d) - 0.5 * d.dot(H * d); };
  REQUIRE(to_least * g.norm() < 0.2);
  REQUIRE(newton.norm() > 1.1);
  // Newton's step as it is, and as conjugate gradients may leave it.
  for (const Eigen::Vector3d& p : {newton, Eigen::Vector3d(newton + Eigen::Vector3d(0.1, 0.02, -0.01))}) {
    const Eigen::Vector3d r = -g - H * p;
    for (const double radius : {0.1, 0.5, 1.0, 10.0}) {
      INFO("radius " << radius);
      whilst::descent_state s{};
      dogleg::scalars step{};
      step.radius = radius;
      step.gg = g.squaredNorm();
      step.gHg = g.dot(H * g);
      step.gp = g.dot(p);
      step.pp = p.squaredNorm();
      step.gr = g.dot(r);
      step.pr = p.dot(r);
      dogleg::choose{&s, &step}();
      const Eigen::Vector3d d = step.of.along_newton * p - step.of.along_gradient * g;
      CHECK(step.norm == Approx(d.norm()).epsilon(1e-13));
      CHECK(step.predicted == Approx(falls(d)).epsilon(1e-13));
      CHECK(step.at_boundary == (radius < 2));
      CHECK(d.norm() == Approx(radius < 2 ? radius : p.norm()).epsilon(1e-13));
      // Along -g alone, then on the way from the least there to p.
      const Eigen::Vector3d corner = -to_least * g;
      if (radius == 0.1) CHECK((d + radius / g.norm() * g).norm() <= 1e-15);
      if (radius > 0.1)
        CHECK(std::abs((d - corner).dot(p - corner)) == Approx((d - corner).norm() * (p - corner).norm()));
    }
  }
}

TEST_CASE("a dogleg whose Newton step is no number goes along -g", "[least squares]") {
  using dogleg = whilst::dogleg<double, whilst::assembled_hessian>;
  whilst::descent_state s{};
  dogleg::scalars step{};
  step.radius = 10;
  step.gg = 4;
  step.gHg = 8;
  const whilst::control inner{};
  dogleg::keep_products{&s, &step, &inner}({-HUGE_VAL, HUGE_VAL, NAN, NAN});
  dogleg::choose{&s, &step}();
  CHECK(step.predicted == 1);  // to the least of the model, at -g / 2
  CHECK(step.norm == 1);
  CHECK_FALSE(step.at_boundary);
  CHECK(dogleg::entry(4, 0, 0, {step.of, HUGE_VAL}) == -2);
}

TEMPLATE_TEST_CASE("many unknowns, with the matrix and without it", "[least squares]", float, double) {
  constexpr int n = 3000;
  std::vector<double> reference;
  for (const std::string& executor : recorded_executors()) {
    for (const variant& v : variants) {
      INFO(executor << ", " << v);
      const partially_separable<TestType> f = make_tridiagonal<TestType>(whilst::place_of_executor(executor), n);
      std::vector<TestType> x(n, -1);
      minimizer_options options = v.options(executor);
      options.tolerances.gradient = sizeof(TestType) == 4 ? 1e-3 : 1e-8;
      options.max_iterations = 60;
      const minimize_report r = minimized<TestType>(f, options, x);
      CHECK(r.reason() == reason::converged_gradient);
      // Residuals on the host, apart from all duals; those of a float are roundings of numbers of size 3.
      double largest = 0;
      for (int i = 0; i < n; ++i) {
        const auto at = [&](int k) {
          return k < 0 || k >= n ? 0.0 : static_cast<double>(x[static_cast<std::size_t>(k)]);
        };
        largest = std::max(largest, std::abs((3 - 2 * at(i)) * at(i) - at(i - 1) - 2 * at(i + 1) + 1));
      }
      CHECK(largest <= options.tolerances.gradient);
      CHECK(r.value <= options.tolerances.gradient);
      // The root from this start, the same for all.
      if (reference.empty()) reference.assign(x.begin(), x.end());
      double apart = 0;
      for (std::size_t i = 0; i < n; ++i) apart = std::max(apart, std::abs(x[i] - reference[i]));
      CHECK(apart <= 10 * options.tolerances.gradient);
    }
  }
}

TEST_CASE("cameras and points: exact data lead back to the truth", "[least squares]") {
  const bundle made(under_sanitizers ? 8 : 20, under_sanitizers ? 40 : 200, 0, 0.05);
  for (const std::string& executor : recorded_executors()) {
    for (const char* method : {"levenberg-marquardt", "dogleg", "newton"}) {
      for (const char* hessian : {"assembled", "matrix-free"}) {
        if (std::string(method) == "newton" && std::string(hessian) == "matrix-free") continue;
        if (under_sanitizers && std::string(method) == "dogleg") continue;
        INFO(executor << ", " << method << ", " << hessian);
        const bundle::on_place<double> function(whilst::place_of_executor(executor), made);
        minimizer_options options{.method = method, .tolerances = {.gradient = 1e-8}, .executor = executor};
        options.hessian = hessian;
        std::vector<double> x = made.start;
        const minimize_report r = minimized<double>(function.f, options, x);
        CHECK(r.converged());
        CHECK(r.rhs_norm() > 1e4);
        CHECK(r.iterations() < 60);
        // Of 4000 coordinates as large as 300 pixels; what is left is mostly what the gradient's tolerance leaves.
        CHECK(r.value <= 1e-11);
        if (std::string(method) == "newton") CHECK(r.value <= 1e-20);  // their rounding, 4000 (300 epsilon)^2
        double away = 0;
        for (std::size_t k = 0; k < x.size(); ++k) away = std::max(away, std::abs(x[k] - made.truth[k]));
        CHECK(away <= 0.01);  // of focal lengths of 500, which are known least
      }
    }
  }
}

TEST_CASE("cameras and points: all methods find the minimum of noisy data", "[least squares]") {
  constexpr int points = under_sanitizers ? 40 : 60;
  const bundle made(8, points, 0.5, 0.02);
  for (const std::string& executor : recorded_executors()) {
    double least = 0;  // by Cholesky
    for (const variant& v :
         {variant{"newton", "auto"}, variant{"levenberg-marquardt", "assembled"},
          variant{"levenberg-marquardt", "matrix-free", "classic"}, variant{"dogleg", "assembled"},
          variant{"dogleg", "matrix-free"}, variant{"newton-cg", "matrix-free"}, variant{"lbfgs", "auto"}}) {
      // The others take longest: they run elsewhere than under sanitizers.
      if (under_sanitizers && (v.method == std::string("lbfgs") || v.method == std::string("newton-cg"))) continue;
      if (under_sanitizers && v.method == std::string("dogleg") && v.hessian == std::string("assembled")) continue;
      INFO(executor << ", " << v);
      const bundle::on_place<double> function(whilst::place_of_executor(executor), made);
      minimizer_options options = v.options(executor);
      options.tolerances.gradient = 1e-5;
      options.max_iterations = 3000;
      std::vector<double> x = made.start;
      const minimize_report r = minimized<double>(function.f, options, x);
      if (least == 0) least = r.value;
      const bool by_gradients = std::string(v.method) == "lbfgs";  // on its way yet
      CHECK((r.converged() || by_gradients));
      CHECK(r.value == Approx(least).epsilon(by_gradients ? 0.05 : 1e-6));
      // Eight coordinates a point, half a pixel each, less what three unknowns a point and 72 more can make up for.
      CHECK(r.value > 10);
      CHECK(r.value < 8 * points * 0.125);
    }
  }
}

TEST_CASE("published minima as residual blocks", "[least squares]") {
  const auto check = [](const auto& problem, double least) {
    for (const std::string& executor : recorded_executors()) {
      for (const variant& v : variants) {
        if (std::string(v.method) == "newton-cg" || std::string(v.method) == "trust-region") continue;
        INFO(executor << ", " << problem.name << ", " << v);
        const auto f = make_published(whilst::place_of_executor(executor), problem);
        std::vector<double> x;
        for (index_type k = 0; k < f.unknowns(); ++k) x.push_back(problem.start(k));
        minimizer_options options = v.options(executor);
        options.tolerances.gradient = 1e-9;
        options.max_iterations = 2000;
        const minimize_report r = minimized<double>(f, options, x);
        // The paper has sums of squares, without 1/2, to six digits.
        CHECK(2 * r.value == Approx(least).margin(1e-8).epsilon(1e-5));
        CHECK((r.converged() || r.reason() == reason::radius_too_small));
      }
    }
  };
  check(problems::of_size<2>(problems::rosenbrock{}), 0);
  check(problems::of_size<2>(problems::powell_badly_scaled{}), 0);
  check(problems::of_size<2>(problems::brown_badly_scaled{}), 0);
  check(problems::of_size<3>(problems::helical_valley{}), 0);
  check(problems::of_size<3>(problems::bard{}), 8.21487e-3);
  check(problems::of_size<4>(problems::powell_singular{}), 0);
  check(problems::of_size<4>(problems::kowalik_and_osborne{}), 3.07505e-4);
  check(problems::of_size<5>(problems::osborne_1{}), 5.46489e-5);
  check(problems::of_size<11>(problems::osborne_2{}), 4.01377e-2);
  check(problems::of_size<6>(problems::watson{6}), 2.28767e-3);
  check(problems::of_size<8>(problems::chebyquad{8}), 3.51687e-3);
  check(problems::of_size<5>(problems::linear_rank_1{5, 10}), 15.0 / 7);
}

}  // namespace whilst_test
