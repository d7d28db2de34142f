#include "kernels/problems/test_functions/test_functions.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <Eigen/Dense>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/derivative_check.hpp"

using whilst::dual;
namespace problems = whilst::test_functions;

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

template <class P>
std::array<double, P::unknowns> start_of(const P& p) {
  std::array<double, P::unknowns> x;
  for (int j = 0; j < P::unknowns; ++j) x[j] = p.start(j);
  return x;
}

/// f at the standard start.
template <class F>
double f_at_start(const F& f) {
  std::vector<double> x(f.n);
  for (whilst::index_type j = 0; j < f.n; ++j) x[j] = f.start(j);
  return problems::sum_of_squares(f, x.data());
}

template <class F>
double f_at(const F& f, const std::vector<double>& x) {
  REQUIRE(whilst::index_type(x.size()) == f.n);
  return problems::sum_of_squares(f, x.data());
}

/// One in the last place of a number printed with six digits: the paper rounds some and cuts others off.
double printed_within(double published) {
  return published == 0 ? 0 : std::pow(10, std::floor(std::log10(published)) - 5);
}

/// Levenberg-Marquardt by QR in units of the largest column lengths so far, until nothing changes: f where it ends.
template <class P>
double least_found(const P& p, std::array<double, P::unknowns> x) {
  constexpr int n = P::unknowns;
  constexpr int most_iterations = 3000;
  const whilst::index_type m = p.count();
  Eigen::VectorXd r(m + n), scale = Eigen::VectorXd::Zero(n);
  Eigen::MatrixXd J = Eigen::MatrixXd::Zero(m + n, n);
  double damping = 1e-3;
  double f = problems::sum_of_squares(p, x.data());
  for (int iteration = 0; iteration < most_iterations; ++iteration) {
    std::array<dual<double, n>, n> variables;
    for (int j = 0; j < n; ++j) variables[j] = dual<double, n>::variable(x[j], j);
    for (whilst::index_type i = 0; i < m; ++i) {
      const dual<double, n> r_i = p(i, variables.data());
      r[i] = r_i.value;
      for (int j = 0; j < n; ++j) J(i, j) = r_i.gradient[j];
    }
    r.tail(n).setZero();
    for (int j = 0; j < n; ++j) {
      scale[j] = std::max(scale[j], J.col(j).head(m).norm());
      if (scale[j] == 0) scale[j] = 1;
    }
    for (;;) {
      J.bottomRows(n) = (std::sqrt(damping) * scale).asDiagonal();
      const Eigen::VectorXd step = J.colPivHouseholderQr().solve(-r);
      auto trial = x;
      for (int j = 0; j < n; ++j) trial[j] += step[j];
      const double f_trial = problems::sum_of_squares(p, trial.data());
      if (f_trial < f) {
        x = trial;
        f = f_trial;
        damping = std::max(damping / 5, 1e-20);
        break;
      }
      damping = std::max(damping * 4, 1e-12);
      if (damping > 1e20) return f;
    }
  }
  return f;
}

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, separator);) fields.push_back(field);
  return fields;
}

}  // namespace

TEST_CASE("test functions: the registry has all 35, in order, at sizes that hold together") {
  int last = 0, distinct = 0;
  problems::for_each_test_function([&](const auto& p, const problems::published_minima& minima) {
    INFO(p.number << " " << p.name);
    CHECK((p.number == last || p.number == last + 1));
    distinct += p.number != last;
    last = p.number;
    CHECK(p.n == p.unknowns);
    CHECK(p.count() >= p.n);
    CHECK(minima.global >= 0);
    for (const double local : minima.local) CHECK(local > minima.global);
  });
  CHECK(last == 35);
  CHECK(distinct == 35);
  REQUIRE_THROWS_AS(problems::of_size<3>(problems::watson{6}), whilst::error);
}

TEST_CASE("test functions: f at the standard starts") {
  // By hand: few terms, of short numbers.
  constexpr double roundings = 64;  // of a sum of at most 31 squares
  const auto exactly = [](double f) { return Approx(f).epsilon(roundings * epsilon); };
  CHECK(f_at_start(problems::rosenbrock{}) == exactly(24.2));
  CHECK(f_at_start(problems::freudenstein_and_roth{}) == exactly(400.5));
  CHECK(f_at_start(problems::brown_badly_scaled{}) == exactly(999999. * 999999 + 0.999998 * 0.999998 + 1));
  CHECK(f_at_start(problems::beale{}) == exactly(1.5 * 1.5 + 2.25 * 2.25 + 2.625 * 2.625));
  CHECK(f_at_start(problems::helical_valley{}) == exactly(2500));
  CHECK(f_at_start(problems::powell_singular{}) == exactly(215));
  CHECK(f_at_start(problems::wood{}) == exactly(19192));
  CHECK(f_at_start(problems::watson{9}) == exactly(30));
  CHECK(f_at_start(problems::extended_rosenbrock{1000}) == exactly(500 * 24.2));
  CHECK(f_at_start(problems::extended_powell_singular{4000}) == exactly(1000 * 215));
  CHECK(f_at_start(problems::penalty_1{4}) == exactly(1e-5 * 14 + 29.75 * 29.75));
  CHECK(f_at_start(problems::penalty_1{10}) == exactly(1e-5 * 285 + 384.75 * 384.75));
  // n = 10: sum of (j/n)^2 = 3.85, sum of j^2/n = 38.5.
  CHECK(f_at_start(problems::variably_dimensioned{10}) == exactly(3.85 + std::pow(38.5, 2) + std::pow(38.5, 4)));
  CHECK(f_at_start(problems::brown_almost_linear{10}) ==
        exactly(9 * std::pow(0.5 + 5 - 11, 2) + std::pow(1 - std::pow(2, -10), 2)));
  // Rows of (3 + 2)(-1) + 1 + 2 + 1 = -1; the first lacks the 1 and the last the 2.
  CHECK(f_at_start(problems::broyden_tridiagonal{10}) == exactly(8 * 1 + 2 * 2 + 3 * 3));
  // Neighbours add x (1 + x) = 0: -(2 + 5) + 1 = -6 in each row.
  CHECK(f_at_start(problems::broyden_banded{10}) == exactly(10 * 36));

  // Norms that MINPACK's test programs print, to 15 digits.
  const auto printed = [](double norm) { return Approx(norm * norm).epsilon(1e-13); };
  CHECK(f_at_start(problems::linear_full_rank{5, 10}) == printed(5.0));
  CHECK(f_at_start(problems::linear_full_rank{5, 50}) == printed(8.06225774829855));
  CHECK(f_at_start(problems::linear_rank_1{5, 10}) == printed(291.521868819476));
  CHECK(f_at_start(problems::linear_rank_1{5, 50}) == printed(3101.60039334535));
  CHECK(f_at_start(problems::bard{}) == printed(6.45613629515967));
  CHECK(f_at_start(problems::kowalik_and_osborne{}) == printed(0.0728915102882945));
  CHECK(f_at_start(problems::meyer{}) == printed(41153.4665543031));
  CHECK(f_at_start(problems::box_three_dimensional{}) == printed(32.1115837449572));
  CHECK(f_at_start(problems::jennrich_and_sampson{}) == printed(64.5856498144943));
  CHECK(f_at_start(problems::brown_and_dennis{}) == printed(2815.43839161816));
  CHECK(f_at_start(problems::chebyquad{8}) == printed(0.196513862833975));
  CHECK(f_at_start(problems::chebyquad{9}) == printed(0.16994993465202));
  CHECK(f_at_start(problems::chebyquad{10}) == printed(0.183747831178711));
  CHECK(f_at_start(problems::brown_almost_linear{40}) == printed(128.026364472323));
  CHECK(f_at_start(problems::osborne_1{}) == printed(0.937564021037838));
  CHECK(f_at_start(problems::osborne_2{}) == printed(1.44686540984712));
}

TEST_CASE("test functions: f at minimizers that are known in closed form") {
  // What is left at a zero of f is rounding: of residuals made of numbers no larger than about 1e6.
  constexpr double zero = 1e-18;
  CHECK(f_at(problems::rosenbrock{}, {1, 1}) == 0);
  CHECK(f_at(problems::freudenstein_and_roth{}, {5, 4}) == 0);
  CHECK(f_at(problems::brown_badly_scaled{}, {1e6, 2e-6}) <= zero);
  CHECK(f_at(problems::beale{}, {3, 0.5}) == 0);
  CHECK(f_at(problems::helical_valley{}, {1, 0, 0}) == 0);
  CHECK(f_at(problems::gulf_research_and_development{}, {50, 25, 1.5}) <= zero);
  CHECK(f_at(problems::box_three_dimensional{}, {1, 10, 1}) <= zero);
  CHECK(f_at(problems::box_three_dimensional{}, {10, 1, -1}) <= zero);
  CHECK(f_at(problems::box_three_dimensional{}, {7, 7, 0}) <= zero);
  CHECK(f_at(problems::powell_singular{}, {0, 0, 0, 0}) == 0);
  CHECK(f_at(problems::wood{}, {1, 1, 1, 1}) == 0);
  CHECK(f_at(problems::biggs_exp6{}, {1, 10, 1, 5, 4, 3}) <= zero);
  CHECK(f_at(problems::extended_rosenbrock{100}, std::vector<double>(100, 1)) == 0);
  CHECK(f_at(problems::extended_powell_singular{100}, std::vector<double>(100, 0)) == 0);
  CHECK(f_at(problems::variably_dimensioned{100}, std::vector<double>(100, 1)) == 0);
  CHECK(f_at(problems::trigonometric{100}, std::vector<double>(100, 0)) == 0);
  CHECK(f_at(problems::brown_almost_linear{100}, std::vector<double>(100, 1)) == 0);
  std::vector<double> far(100, 0);
  far.back() = 101;
  CHECK(f_at(problems::brown_almost_linear{100}, far) == 1);

  // The linear functions, at other sizes than the registry's, by the formulas of the paper.
  const auto about = [](double f) { return Approx(f).epsilon(1e-12); };
  const double n = 7, m = 23;
  CHECK(f_at(problems::linear_full_rank{7, 23}, std::vector<double>(7, -1)) == about(m - n));
  // The sum of j x_j is 3 / (2 m + 1) at all minimizers, and for the last function 3 / (2 m - 3).
  std::vector<double> x(7, 0);
  x[3] = 3 / (2 * m + 1) / 4;
  CHECK(f_at(problems::linear_rank_1{7, 23}, x) == about(m * (m - 1) / (2 * (2 * m + 1))));
  x[0] = x[6] = 123;  // without effect
  x[3] = 3 / (2 * m - 3) / 4;
  CHECK(f_at(problems::linear_rank_1_with_zeros{7, 23}, x) == about((m * m + 3 * m - 6) / (2 * (2 * m - 3))));

  // Infima: of Bard's function at (0.8406.., -inf, -inf), of Kowalik and Osborne's at (inf, -14.07.., -inf, -inf).
  CHECK(f_at(problems::bard{}, {0.840666673818329, -158848033.259565, -164378671.653535}) ==
        Approx(17.4286).epsilon(1e-5));
  CHECK(f_at(problems::kowalik_and_osborne{}, {728675.473768287, -14.0758803129393, -32977797.7841797,
                                               -20571594.1977912}) == Approx(1.02734e-3).epsilon(1e-5));
}

TEST_CASE("test functions: from the standard start a published minimum is reached") {
  problems::for_each_test_function([&](const auto& p, const problems::published_minima& minima) {
    const double f = least_found(p, start_of(p));
    double nearest = HUGE_VAL, slack = 0;
    std::vector<double> all = minima.local;
    all.push_back(minima.global);
    for (const double minimum : all)
      if (std::abs(f - minimum) < std::abs(f - nearest)) {
        nearest = minimum;
        // A zero is reached where f is as small as rounding and flatness of a singular minimizer let it be.
        slack = minimum == 0 ? 1e-20 : printed_within(minimum);
      }
    INFO(p.number << " " << p.name << ", n " << p.n << ": f " << f << ", published " << nearest);
    CHECK(std::abs(f - nearest) <= slack);
  });
}

TEST_CASE("test functions: the local minima that the standard starts do not lead to") {
  const auto is = [](double f, double published) { return std::abs(f - published) <= printed_within(published); };
  // Two of the three exponentials have become one; at the point to six digits, as steps may lead away from there.
  CHECK(is(f_at(problems::biggs_exp6{}, {17.6832, 1.71142, -2.59328, -2.32629, 17.6832, -2.59328}), 5.65565e-3));
  // From its minimizer, cut to four digits.
  CHECK(is(least_found(problems::of_size<10>(problems::trigonometric{10}),
                       {0.05515, 0.05684, 0.05876, 0.06099, 0.06363, 0.06684, 0.2082, 0.1644, 0.08501, 0.09143}),
           2.79506e-5));
}

TEST_CASE("test functions: the registry's minima are those of the published table") {
  const char* folder = std::getenv("WHILST_DATA_DIR");
  std::ifstream file(folder ? std::string(folder) + "/mgh_minima.tsv" : std::string());
  if (!file) {
    WARN("skipped: set WHILST_DATA_DIR to the directory with mgh_minima.tsv");
    return;
  }
  std::map<int, std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') rows[std::atoi(line.c_str())] = split(line, '\t');
  REQUIRE(rows.size() == 35);
  problems::for_each_test_function([&](const auto& p, const problems::published_minima& minima) {
    INFO(p.number << " " << p.name << ", n " << p.n);
    const std::vector<std::string>& row = rows[p.number];
    REQUIRE(row.size() >= 5);
    CHECK(row[1] == p.name);
    if (row[3].find_first_not_of("0123456789") == std::string::npos) CHECK(std::stol(row[3]) == p.count());
    // Sizes and minima are lists that belong together; one minimum is for all sizes. Formulas are in n and m.
    const std::vector<std::string> sizes = split(row[2], ','), values = split(row[4], ',');
    const double m = double(p.count()), n = double(p.n);
    if (p.number == 32) CHECK(minima.global == Approx(m - n).epsilon(1e-15));
    if (p.number == 33) CHECK(minima.global == Approx(m * (m - 1) / (2 * (2 * m + 1))).epsilon(1e-15));
    if (p.number == 34) CHECK(minima.global == Approx((m * m + 3 * m - 6) / (2 * (2 * m - 3))).epsilon(1e-15));
    if (p.number >= 32 && p.number <= 34) return;
    double expected = values.size() == 1 ? std::stod(values[0]) : 0;  // Chebyquad's other sizes: 0
    for (std::size_t k = 0; k < sizes.size() && values.size() > 1; ++k)
      if (std::atoi(sizes[k].c_str()) == p.n) expected = std::stod(values[k]);
    CHECK(minima.global == expected);
    if (row.size() > 5 && std::isdigit(row[5][0])) {
      REQUIRE(minima.local.size() == 1);
      CHECK(minima.local[0] == std::stod(row[5]));
    } else {
      CHECK(minima.local.empty());
    }
  });
}

TEST_CASE("test functions: gradients agree with differences") {
  problems::for_each_test_function([&](const auto& p, const problems::published_minima&) {
    // A bit off the start, where some derivatives vanish, and larger so that each term counts.
    auto x = start_of(p);
    for (int j = 0; j < p.unknowns; ++j) x[j] += 0.01 * (1 + j % 3) * (x[j] == 0 ? 1 : x[j]);
    constexpr int n = std::decay_t<decltype(p)>::unknowns;
    const auto check =
        whilst::check_derivatives<n>([&](const auto* y) { return problems::sum_of_squares(p, y); }, x.data());
    INFO(p.number << " " << p.name << ", n " << p.n << ": " << check.message);
    CHECK(check.agrees);
  });
}

namespace {

/// Derivatives of the residuals by windows are those by all n directions, bit by bit, and residuals read nothing else.
template <int N, class F>
void check_windows(F f) {
  f.n = N;
  INFO(f.name);
  std::array<double, N> x;
  std::array<dual<double, N>, N> variables;
  for (int j = 0; j < N; ++j) {
    x[j] = f.start(j) + 0.03 * ((7 * j) % 5);
    variables[j] = dual<double, N>::variable(x[j], j);
  }
  for (whilst::index_type i = 0; i < f.count(); ++i) {
    const problems::window<double, F::width> view{x.data(), f.first(i)};
    const dual<double, F::width> narrow = f.residual(i, view);
    const dual<double, N> wide = f.residual(i, variables.data());
    CHECK(narrow.value == wide.value);
    CHECK(narrow.value == f.residual(i, x.data()));
    for (whilst::index_type j = 0; j < N; ++j) {
      const whilst::index_type k = j - f.first(i);
      CHECK(wide.gradient[j] == (k >= 0 && k < F::width ? narrow.gradient[k] : 0));
    }
  }
}

}  // namespace

TEST_CASE("test functions: sparse residuals by windows") {
  check_windows<12>(problems::extended_rosenbrock{});
  check_windows<12>(problems::extended_powell_singular{});
  check_windows<12>(problems::discrete_boundary_value{});
  check_windows<12>(problems::broyden_tridiagonal{});
  check_windows<12>(problems::broyden_banded{});
}

TEST_CASE("test functions: in single precision") {
  problems::for_each_test_function([&](const auto& p, const problems::published_minima&) {
    const auto x = start_of(p);
    std::vector<float> single(x.begin(), x.end());
    const double expected = problems::sum_of_squares(p, x.data());
    const float found = problems::sum_of_squares(p, single.data());
    INFO(p.number << " " << p.name);
    // Relative to the largest residual's terms where they cancel, which they do little at the starts.
    constexpr double single_epsilons = 2000;
    CHECK(std::abs(found - expected) <= single_epsilons * std::numeric_limits<float>::epsilon() * (1 + expected));
  });
}
