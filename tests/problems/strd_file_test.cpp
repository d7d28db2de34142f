#include "kernels/problems/curves/strd_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <Eigen/Dense>

#include "kernels/problems/curves/curve_models.hpp"
#include "tests/catch.hpp"
#include "whilst/error.hpp"

namespace whilst_test {

using whilst::read_strd;
using whilst::strd_file;

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// A value and its derivative in one direction, with no more operations than models may ask for.
struct slope {
  double value, derivative;

  friend slope operator+(slope a, slope b) { return {a.value + b.value, a.derivative + b.derivative}; }
  friend slope operator-(slope a, slope b) { return {a.value - b.value, a.derivative - b.derivative}; }
  friend slope operator*(slope a, slope b) {
    return {a.value * b.value, a.derivative * b.value + a.value * b.derivative};
  }
  friend slope operator/(slope a, slope b) {
    return {a.value / b.value, (a.derivative - a.value / b.value * b.derivative) / b.value};
  }
  friend slope operator+(slope a, double b) { return {a.value + b, a.derivative}; }
  friend slope operator+(double a, slope b) { return b + a; }
  friend slope operator-(slope a, double b) { return {a.value - b, a.derivative}; }
  friend slope operator-(double a, slope b) { return {a - b.value, -b.derivative}; }
  friend slope operator*(slope a, double b) { return {a.value * b, a.derivative * b}; }
  friend slope operator*(double a, slope b) { return b * a; }
  friend slope operator/(slope a, double b) { return {a.value / b, a.derivative / b}; }
  friend slope operator/(double a, slope b) { return slope{a, 0} / b; }
  friend slope exp(slope a) { return {std::exp(a.value), std::exp(a.value) * a.derivative}; }
  friend slope log(slope a) { return {std::log(a.value), a.derivative / a.value}; }
  friend slope sqrt(slope a) { return {std::sqrt(a.value), a.derivative / (2 * std::sqrt(a.value))}; }
  friend slope sin(slope a) { return {std::sin(a.value), std::cos(a.value) * a.derivative}; }
  friend slope cos(slope a) { return {std::cos(a.value), -std::sin(a.value) * a.derivative}; }
  friend slope atan(slope a) { return {std::atan(a.value), a.derivative / (1 + a.value * a.value)}; }
};

/// What a model makes of a data set at the parameters b.
struct fit {
  Eigen::VectorXd model, residual;  ///< f, and y - f
  Eigen::MatrixXd jacobian;         ///< of f, exact but for rounding
  Eigen::MatrixXd differences;      ///< the same by central differences
  Eigen::VectorXd single;           ///< f computed with parameters in float
};

template <class Model>
fit evaluate(const Model& model, const strd_file& file, const std::vector<double>& b) {
  const Eigen::Index n = file.observations, p = file.parameters;
  fit result{Eigen::VectorXd(n), Eigen::VectorXd(n), Eigen::MatrixXd(n, p), Eigen::MatrixXd(n, p), Eigen::VectorXd(n)};
  const std::vector<float> narrow(b.begin(), b.end());
  for (Eigen::Index i = 0; i < n; ++i) {
    const double* const x = file.predictors.data() + i * file.variables;
    result.model[i] = model(b.data(), x);
    result.residual[i] = whilst::curve_response(model, file.response[static_cast<std::size_t>(i)]) - result.model[i];
    result.single[i] = static_cast<double>(model(narrow.data(), x));
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::vector<slope> seeded;
      for (const double value : b) seeded.push_back({value, 0});
      seeded[j].derivative = 1;
      result.jacobian(i, static_cast<Eigen::Index>(j)) = model(seeded.data(), x).derivative;
      // The length that balances rounding, eps / h, against truncation, h^2.
      std::vector<double> above = b, below = b;
      above[j] += std::cbrt(epsilon) * std::abs(b[j]);
      below[j] -= std::cbrt(epsilon) * std::abs(b[j]);
      result.differences(i, static_cast<Eigen::Index>(j)) =
          (model(above.data(), x) - model(below.data(), x)) / (above[j] - below[j]);
    }
  }
  return result;
}

/// The cosines of the angles between the residual and the columns of the Jacobian: the gradient of the sum of squares
/// without its units. The largest.
double largest_cosine(const Eigen::MatrixXd& jacobian, const Eigen::VectorXd& residual) {
  return ((jacobian.transpose() * residual).cwiseAbs().array() / jacobian.colwise().norm().transpose().array())
             .maxCoeff() /
         residual.norm();
}

/// Half a unit in the last of the 11 digits that the certified parameters are printed with.
Eigen::VectorXd rounding_of(const std::vector<double>& parameters) {
  Eigen::VectorXd half_units(static_cast<Eigen::Index>(parameters.size()));
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    half_units[static_cast<Eigen::Index>(j)] = 0.5 * std::pow(10, std::floor(std::log10(std::abs(parameters[j]))) - 10);
  }
  return half_units;
}

/// The folder of the data sets, empty where there is none.
std::string suite() {
  const char* folder = std::getenv("WHILST_DATA_DIR");
  if (folder == nullptr) {
    WARN("skipped: set WHILST_DATA_DIR to the directory with nist/Misra1a.dat and the other sets");
    return {};
  }
  return std::string(folder) + "/nist/";
}

std::vector<std::string> names_of_suite() {
  std::vector<std::string> names;
  for (const auto& model : whilst::curve_model_list()) names.emplace_back(model.name);
  names.resize(27);
  return names;
}

/// The file, for which the model is used as use(model, file).
template <class Use>
void for_each_set(const std::string& folder, Use&& use) {
  for (const std::string& name : names_of_suite()) {
    INFO(name);
    const strd_file file = read_strd(folder + name + ".dat");
    REQUIRE(whilst::with_curve_model(file.name, [&](const auto& model) { use(model, file); }));
  }
}

/// A file in the suite's format for the line y = b1 + b2 x, by hand: y = 1, 3, 4 at x = 0, 1, 2.
const std::vector<std::string> small = {
    "NIST/ITL StRD",                                                           // 1
    "Dataset Name:  Small             (Small.dat)",                            // 2
    "Description:   Three points",                                             // 3
    "               near a line.",                                             // 4
    "",                                                                        // 5
    "Data:          1 Response  (y = height)",                                 // 6
    "               1 Predictor (x = time)",                                   // 7
    "Model:         Miscellaneous Class",                                      // 8
    "               2 Parameters (b1 and b2)",                                 // 9
    "",                                                                        // 10
    "               y = b1 + b2*x  +  e",                                      // 11
    "",                                                                        // 12
    "          Starting values                  Certified Values",             // 13
    "        Start 1     Start 2           Parameter     Standard Deviation",  // 14
    "  b1 =   5           +1          1.1666666667E+00  3.7267799625E-01",     // 15
    "  b2 =   .5          -1          1.5000000000E+00  2.8867513459E-01",     // 16
    "",                                                                        // 17
    "Residual Sum of Squares:                    1.6666666667E-01",            // 18
    "Residual Standard Deviation:                4.0824829046E-01",            // 19
    "Degrees of Freedom:                                1",                    // 20
    "Number of Observations:                            3",                    // 21
    "",                                                                        // 22
    "Data:   y             x",                                                 // 23
    "        1             0",                                                 // 24
    "        3.0E0         1",                                                 // 25
    "        4             2",                                                 // 26
};

/// A file that is gone with this object.
class scratch_file {
 public:
  explicit scratch_file(const std::vector<std::string>& lines, const std::string& line_end = "\n") {
    std::ofstream out(path_, std::ios::binary);
    for (const std::string& line : lines) out << line << line_end;
  }
  ~scratch_file() { std::filesystem::remove(path_); }
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("whilst_strd_" + std::to_string(std::random_device{}()) + ".dat");
};

std::string message_for(const std::vector<std::string>& lines) {
  const scratch_file file(lines);
  try {
    read_strd(file.path());
  } catch (const whilst::error& e) {
    const std::string message = e.what();
    return message.substr(std::min(message.size(), file.path().size()));
  }
  return "no error";
}

std::string message_with_line(std::size_t number, const std::string& line) {
  std::vector<std::string> lines = small;
  lines.at(number - 1) = line;
  return message_for(lines);
}

}  // namespace

TEST_CASE("a data set is read by meaning", "[strd]") {
  for (const char* line_end : {"\n", "\r\n"}) {
    const scratch_file written(small, line_end);
    const strd_file file = read_strd(written.path());
    CHECK(file.name == "Small");
    CHECK(file.description == "Three points near a line.");
    CHECK(file.model_text == "y = b1 + b2*x  +  e");
    CHECK(file.parameters == 2);
    CHECK(file.variables == 1);
    CHECK(file.variable_names == std::vector<std::string>{"height", "time"});
    CHECK(file.start_1 == std::vector<double>{5, 0.5});
    CHECK(file.start_2 == std::vector<double>{1, -1});
    CHECK(file.certified == std::vector<double>{1.1666666667, 1.5});
    CHECK(file.certified_deviation == std::vector<double>{0.37267799625, 0.28867513459});
    CHECK(file.residual_sum_of_squares == 0.16666666667);
    CHECK(file.residual_deviation == 0.40824829046);
    CHECK(file.degrees_of_freedom == 1);
    CHECK(file.observations == 3);
    CHECK(file.response == std::vector<double>{1, 3, 4});
    CHECK(file.predictors == std::vector<double>{0, 1, 2});
  }
}

TEST_CASE("a data set that is not as it should be names the line", "[strd]") {
  REQUIRE(message_for(small) == "no error");
  CHECK(message_with_line(15, "  b1 = 5 1.0 oops 0.4") ==
        ":15:14: found \"oops\", expected a finite number within the range of double");
  CHECK(message_with_line(15, "  b1 = 5 1.0 1.2") ==
        ":15:17: found the end of the line, expected a finite number within the range of double");
  CHECK_THAT(message_with_line(15, "  b1 = 5 1.0 1.2 0.4 7"), contains(":15:22: found \"7\", expected the end"));
  CHECK_THAT(message_with_line(16, "  b3 = 5 1.0 1.2 0.4"), contains(":16:3: found \"b3 = 5"));
  CHECK_THAT(message_with_line(16, ""), contains(":18:1: found \"Residual Sum of Squares:"));
  CHECK_THAT(message_with_line(18, "Residual Sum of Squares: 1e999"), contains(":18:26: found \"1e999\""));
  CHECK_THAT(message_with_line(20, "Degrees of Freedom: -1"), contains(":20:21: found \"-1\""));
  CHECK_THAT(message_with_line(20, "Degrees of Freedom: 99999999999"), contains(":20:21: found \"99999999999\""));
  CHECK_THAT(message_with_line(20, "Degrees of Freedom: 2"), contains(":21:1: found"));
  CHECK_THAT(message_with_line(21, "Number of Observations: 3.5"), contains(":21:25: found \"3.5\""));
  CHECK_THAT(message_with_line(9, "   0 Parameters"), contains(":9:4: found \"0\""));
  CHECK_THAT(message_with_line(9, "   2 Observations"), contains(":9:6: found \"Observations\""));
  CHECK_THAT(message_with_line(2, "Dataset Name:"), contains(":2:14: found the end of the line"));
  CHECK_THAT(message_with_line(23, "Data:   y"), contains(":23:9: found \"y\""));
  for (const char* bad : {"nan", "inf", "-infinity", "1,5", "0x1p3", "--1", "+-1", "1e400", "1 \x1b[31m"}) {
    INFO(bad);
    CHECK_THAT(message_with_line(25, std::string(bad) + " 1"), contains(":25:"));
    CHECK_THAT(message_with_line(26, "4 " + std::string(bad)), contains(":26:"));
  }
  CHECK_THAT(message_with_line(25, ""),
             contains(":27:1: found the end of the file, expected 3 observations, of which 2"));
  CHECK_THAT(message_with_line(22, "Data: y x1 x2"), contains(":23:1: found \"Data:\""));

  std::vector<std::string> longer = small;
  longer.push_back("  5   3");
  CHECK_THAT(message_for(longer), contains(":27:3: found \"5   3\", expected no data after 3 observations"));
}

TEST_CASE("a data set without one of its sections is refused, and so is every beginning of one", "[strd]") {
  for (const std::size_t number : {2, 3, 6, 8, 9, 13, 14, 15, 16, 18, 19, 20, 21, 23, 24}) {
    INFO("without line " << number);
    CHECK_THAT(message_with_line(number, ""), contains(": found ") && contains(", expected "));
  }
  for (std::size_t lines = 0; lines < small.size(); ++lines) {
    INFO("the first " << lines << " lines");
    CHECK_THAT(message_for({small.begin(), small.begin() + static_cast<std::ptrdiff_t>(lines)}),
               contains(": found ") && contains(", expected "));
  }
  REQUIRE_THROWS_WITH(read_strd("/nonexistent/Misra1a.dat"),
                      contains("reading /nonexistent/Misra1a.dat: no such file. Give a data set"));
  REQUIRE_THROWS_AS(read_strd(std::filesystem::temp_directory_path().string()), whilst::error);
}

TEST_CASE("a curve model chosen at run time gives the bits of the model itself", "[curve_models]") {
  whilst::for_each_curve_model([](std::string_view name, const auto& model) {
    INFO(name);
    const whilst::curve_model_of_size chosen(model);
    std::vector<double> b, x;
    for (int j = 0; j < model.parameters; ++j) b.push_back(0.3 + 0.1 * j);
    for (int j = 0; j < model.variables; ++j) x.push_back(1.7 + j);
    CHECK(chosen(b.data(), x.data()) == model(b.data(), x.data()));
  });
}

TEST_CASE("curve models are found by name", "[curve_models]") {
  std::set<std::string> names;
  for (const auto& entry : whilst::curve_model_list()) {
    INFO(entry.name);
    names.emplace(entry.name);
    int parameters = 0;
    CHECK(whilst::with_curve_model(entry.name, [&](const auto& model) { parameters = model.parameters; }));
    CHECK(parameters == entry.parameters);
    // The formula mentions each parameter and no more of them.
    CHECK_THAT(std::string(entry.formula), contains("b" + std::to_string(entry.parameters)));
    CHECK_THAT(std::string(entry.formula), !contains("b" + std::to_string(entry.parameters + 1)));
  }
  CHECK(names.size() == 35);
  CHECK(whilst::with_curve_model("mIsRa1A", [](const auto& model) { CHECK(std::string(model.name) == "Misra1a"); }));
  CHECK(whilst::with_curve_model("THURBER", [](const auto& model) { CHECK(model.parameters == 7); }));
  for (const char* unknown : {"", "Misra1", "Misra1aa", "Misra2a"}) {
    CHECK_FALSE(whilst::with_curve_model(unknown, [](const auto&) { FAIL("a model of no name"); }));
  }
}

TEST_CASE("general curve models have the values that their formulas say", "[curve_models]") {
  struct one {
    const char* name;
    std::vector<double> b;
    double x, expected;
  };
  // By hand, with exponents that vanish or are logarithms.
  const double ln_2 = std::log(2.0);
  for (const one& c :
       {one{"line", {2, 3}, 5, 17}, one{"quadratic", {2, 3, 4}, 5, 117}, one{"cubic", {2, 3, 4, 1}, 5, 242},
        one{"exponential", {8, ln_2, 1}, 3, 2}, one{"logistic", {9, ln_2, 4}, 5, 6}, one{"power", {3, 2}, 5, 75},
        one{"gaussian", {8, 1, 2}, 1 + 2 * std::sqrt(2 * ln_2), 4}, one{"michaelis-menten", {6, 2}, 4, 4}}) {
    INFO(c.name);
    const bool found = whilst::with_curve_model(c.name, [&](const auto& model) {
      REQUIRE(model.parameters == static_cast<int>(c.b.size()));
      // Some ten roundings, of exponents of magnitude up to 4.
      CHECK(std::abs(model(c.b.data(), &c.x) - c.expected) <= 32 * epsilon * c.expected);
    });
    CHECK(found);
  }
}

TEST_CASE("every set of the NIST suite is read whole", "[strd][data]") {
  const std::string folder = suite();
  if (folder.empty()) return;
  for_each_set(folder, [](const auto& model, const strd_file& file) {
    const auto p = static_cast<std::size_t>(file.parameters), n = static_cast<std::size_t>(file.observations);
    CHECK(file.parameters == model.parameters);
    CHECK(file.variables == model.variables);
    CHECK(file.observations == file.degrees_of_freedom + file.parameters);
    CHECK(file.start_1.size() == p);
    CHECK(file.start_2.size() == p);
    CHECK(file.certified.size() == p);
    CHECK(file.certified_deviation.size() == p);
    CHECK(file.response.size() == n);
    CHECK(file.predictors.size() == n * static_cast<std::size_t>(file.variables));
    CHECK(file.variable_names.size() == 1 + static_cast<std::size_t>(file.variables));
    CHECK_THAT(file.model_text, contains("b" + std::to_string(p)) && contains("y"));
    CHECK(file.description.size() > 40);
    // Both are printed with 11 digits.
    const double deviation = std::sqrt(file.residual_sum_of_squares / file.degrees_of_freedom);
    CHECK(std::abs(deviation - file.residual_deviation) <= 1e-10 * deviation);
  });
  const strd_file nelson = read_strd(folder + "Nelson.dat");
  CHECK(nelson.variable_names == std::vector<std::string>{"dialectric breakdown strength", "time", "temperature"});
  CHECK(nelson.response[127] == 1.2);
  CHECK(nelson.predictors[2 * 127] == 64);
  CHECK(nelson.predictors[2 * 127 + 1] == 275);
}

TEST_CASE("models have the certified sums of squares at the certified parameters", "[strd][curve_models][data]") {
  const std::string folder = suite();
  if (folder.empty()) return;
  for_each_set(folder, [](const auto& model, const strd_file& file) {
    const fit at = evaluate(model, file, file.certified);
    const double sum = at.residual.squaredNorm();
    if (file.name != "Lanczos1") {
      // At a minimum the 11 digits of the parameters change the sum in second order only.
      CHECK(std::abs(sum - file.residual_sum_of_squares) <= 1e-8 * file.residual_sum_of_squares);
      return;
    }
    // These data are the model at other parameters, rounded to 12 decimals: the residual, 4e-13, is far below what the
    // 11 printed digits of the certified parameters change, |J| half a unit. So the sum cannot be reproduced from them;
    // but the parameters that made the data have one of no more than the decimals' rounding allows, and at least the
    // certified minimum. The sums' own rounding is that of f, a few epsilon of the response.
    const double printed = (at.jacobian.cwiseAbs() * rounding_of(file.certified)).norm();
    CHECK(std::sqrt(sum) <= std::sqrt(file.residual_sum_of_squares) + printed);
    const fit made = evaluate(model, file, {0.0951, 1, 0.8607, 3, 1.5576, 5});
    const double rounding = 8 * epsilon * at.model.norm();
    CHECK(made.residual.norm() <= std::sqrt(static_cast<double>(file.observations)) * 0.5e-12 + rounding);
    CHECK(made.residual.norm() >= std::sqrt(file.residual_sum_of_squares) - rounding);
  });
}

TEST_CASE("certified parameters are stationary points of the sums of squares", "[strd][curve_models][data]") {
  const std::string folder = suite();
  if (folder.empty()) return;
  for_each_set(folder, [](const auto& model, const strd_file& file) {
    const fit at = evaluate(model, file, file.certified);
    // Derivatives in two ways agree.
    for (Eigen::Index j = 0; j < at.jacobian.cols(); ++j) {
      const double off = (at.jacobian.col(j) - at.differences.col(j)).norm() / at.jacobian.col(j).norm();
      UNSCOPED_INFO("column " << j << " off by " << off);
      CHECK(off <= 1e-6);
    }
    if (file.name == "Lanczos1") {
      // There these digits are all of the residual. A Gauss-Newton step finds them again, moves no parameter by more
      // than they can, and ends at the certified sum, as far as the rounding of f and y lets the residual be known.
      const Eigen::VectorXd step = at.jacobian.householderQr().solve(at.residual);
      CHECK((step.cwiseAbs().array() <= 1.01 * rounding_of(file.certified).array()).all());
      std::vector<double> better = file.certified;
      for (std::size_t j = 0; j < better.size(); ++j) better[j] += step[static_cast<Eigen::Index>(j)];
      const double norm = evaluate(model, file, better).residual.norm();
      CHECK(std::abs(norm - std::sqrt(file.residual_sum_of_squares)) <= 2 * epsilon * at.model.norm());
      return;
    }
    // The digits that the certified parameters do not have turn the residual by as much as they change it.
    const double turned = (at.jacobian.cwiseAbs() * rounding_of(file.certified)).norm() / at.residual.norm();
    const double cosine = largest_cosine(at.differences, at.residual);
    CHECK(cosine <= 1e-6 + turned);
    // Where a fit starts it is not so.
    const fit before = evaluate(model, file, file.start_2);
    CHECK(largest_cosine(before.jacobian, before.residual) > 0.1);
  });
}

TEST_CASE("standard deviations follow from the models' derivatives", "[strd][curve_models][data]") {
  const std::string folder = suite();
  if (folder.empty()) return;
  for_each_set(folder, [](const auto& model, const strd_file& file) {
    // s sqrt(diag((J^T J)^-1)) from the triangle of J, its columns scaled to length 1 first.
    const fit at = evaluate(model, file, file.certified);
    const Eigen::VectorXd lengths = at.jacobian.colwise().norm();
    const Eigen::HouseholderQR<Eigen::MatrixXd> factors(at.jacobian * lengths.cwiseInverse().asDiagonal());
    const Eigen::Index p = at.jacobian.cols();
    const Eigen::MatrixXd triangle = factors.matrixQR().topRows(p);
    const Eigen::MatrixXd inverse =
        triangle.triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(p, p)).eval();
    for (Eigen::Index j = 0; j < p; ++j) {
      const double deviation = file.residual_deviation * inverse.row(j).norm() / lengths[j];
      const double certified = file.certified_deviation[static_cast<std::size_t>(j)];
      UNSCOPED_INFO("off by " << std::abs(deviation - certified) / certified);
      CHECK(std::abs(deviation - certified) <= 1e-6 * certified);
    }
  });
}

TEST_CASE("models take parameters in float", "[strd][curve_models][data]") {
  const std::string folder = suite();
  if (folder.empty()) return;
  constexpr double float_epsilon = std::numeric_limits<float>::epsilon();
  for_each_set(folder, [](const auto& model, const strd_file& file) {
    const fit at = evaluate(model, file, file.certified);
    const Eigen::VectorXd b = Eigen::Map<const Eigen::VectorXd>(file.certified.data(), file.parameters).cwiseAbs();
    // Each parameter is rounded, and what is computed from it a few times more.
    const Eigen::VectorXd bound = 4 * float_epsilon * (at.jacobian.cwiseAbs() * b + at.model.cwiseAbs());
    CHECK(((at.single - at.model).cwiseAbs().array() <= bound.array()).all());
  });
}

TEST_CASE("known misprints are put right in the sets that have them and nowhere else", "[strd][data]") {
  const std::string folder = suite();
  if (folder.empty()) return;
  for_each_set(folder, [](const auto&, const strd_file& file) {
    if (file.name == "Rat43") {
      CHECK(file.corrected == "degrees of freedom: 11 for 9");
    } else if (file.name != "Roszman1") {
      CHECK(file.corrected.empty());
    }
  });
  CHECK(read_strd(folder + "Roszman1.dat").certified[0] == 2.0196866396e-01);

  std::vector<std::string> lines = small;
  lines[14] = "  b1 =   5           1          1.20196866396E-0   3.7267799625E-01";
  CHECK(read_strd(scratch_file(lines).path()).certified[0] == 1.20196866396);
  lines[1] = "Dataset Name:  Roszman1          (Roszman1.dat)";
  CHECK(read_strd(scratch_file(lines).path()).certified[0] == 0.20196866396);
}

}  // namespace whilst_test
