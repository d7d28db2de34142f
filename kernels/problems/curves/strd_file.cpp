#include "kernels/problems/curves/strd_file.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "solvers/files/text_file.hpp"

namespace whilst {
namespace {

using detail::blanks, detail::quoted, detail::trim;

/// Whether text starts with `start`, ignoring case.
bool starts_with(std::string_view text, std::string_view start) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return text.size() >= start.size() && std::equal(start.begin(), start.end(), text.begin(), same);
}

/// Takes the first word off the text; empty if there is none.
std::string_view take_word(std::string_view& text) {
  text = trim(text);
  const std::string_view word = text.substr(0, text.find_first_of(blanks));
  text.remove_prefix(word.size());
  return word;
}

/// The file in memory and the current line. Lines and words are views into the text, so an error can find its position.
class reader {
 public:
  explicit reader(const std::string& path) : path_(path) {
    const auto fail_whole = [&](const std::string& found) {
      detail::fail(path, found, "a data set of the NIST StRD, such as Misra1a.dat");
    };
    std::error_code problem;
    const auto status = std::filesystem::status(path, problem);
    if (!std::filesystem::exists(status)) fail_whole("no such file");
    if (!std::filesystem::is_regular_file(status)) fail_whole("something that is no file");
    // The largest data set has some 10 kB.
    constexpr std::uintmax_t largest = 1 << 24;
    if (std::filesystem::file_size(path, problem) > largest) fail_whole("a file of more than 16 MiB");
    std::optional<std::string> text = detail::read_whole_file(path);
    if (!text) fail_whole("a file that does not open");
    text_ = std::move(*text);
    next();
  }

  bool at_end() const { return at_end_; }
  /// The current line, trimmed.
  std::string_view line() const { return line_; }
  void next() {
    at_end_ = after_ == text_.size();
    const std::size_t newline = std::min(text_.find('\n', after_), text_.size());
    line_ = trim(std::string_view(text_).substr(after_, newline - after_));
    after_ = std::min(newline + 1, text_.size());
  }
  void skip_blank_lines() {
    while (!at_end_ && line_.empty()) next();
  }

  /// Advances to the next line with this label. Returns what follows the label.
  std::string_view find(std::string_view label) {
    while (!at_end_ && !starts_with(line_, label)) next();
    if (at_end_) fail_at_end("a line that starts with " + quoted(label));
    return trim(line_.substr(label.size()));
  }

  /// Takes a number off the front of the text.
  double take_number(std::string_view& text) const {
    const std::string_view word = take_word(text);
    const std::optional<double> value = detail::finite_number(word);
    if (!value) fail(word, "a finite number within the range of double");
    return *value;
  }
  int take_count(std::string_view& text, int smallest) const {
    const std::string_view word = take_word(text);
    int value = 0;
    const char* const end = word.data() + word.size();
    const auto [last, problem] = std::from_chars(word.data(), end, value);
    if (problem != std::errc{} || last != end || value < smallest) {
      fail(word, "a whole number of at least " + std::to_string(smallest));
    }
    return value;
  }
  void expect_line_end(std::string_view rest) const {
    rest = trim(rest);
    if (!rest.empty()) fail(rest, "the end of the line");
  }

  /// Fails, pointing at this piece of the text.
  [[noreturn]] void fail(std::string_view piece, const std::string& expected) const {
    detail::fail(path_, text_, piece, piece.empty() ? "the end of the line" : quoted(piece), expected);
  }
  [[noreturn]] void fail_at_end(const std::string& expected) const {
    detail::fail(path_, text_, text_.size(), "the end of the file", expected);
  }

 private:
  std::string path_, text_;
  std::string_view line_;
  std::size_t after_ = 0;  // where the next line starts
  bool at_end_ = false;
};

/// The columns that a text such as "(x1 = time; x2 = temperature)" names, and their names.
using explained = std::vector<std::pair<std::string_view, std::string_view>>;

void read_names(std::string_view text, explained& names) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return;
  std::string_view inside = text.substr(open + 1, close - open - 1);
  while (!inside.empty()) {
    const std::string_view one = inside.substr(0, inside.find(';'));
    inside.remove_prefix(std::min(one.size() + 1, inside.size()));
    const std::size_t equals = one.find('=');
    if (equals != std::string_view::npos) names.emplace_back(trim(one.substr(0, equals)), trim(one.substr(equals + 1)));
  }
}

void read_description(reader& in, strd_file& file) {
  std::string_view rest = in.find("Dataset Name:");
  file.name = take_word(rest);
  if (file.name.empty()) in.fail(rest, "the name of the data set");
  for (rest = in.find("Description:"); !rest.empty(); in.next(), rest = in.line()) {
    file.description.append(file.description.empty() ? "" : " ").append(rest);
  }
}

void read_model(reader& in, strd_file& file) {
  in.find("Model:");
  for (in.next(); file.parameters == 0; in.next()) {
    in.skip_blank_lines();
    if (in.at_end() || starts_with(in.line(), "Starting values")) break;
    std::string_view rest = in.line();
    file.parameters = in.take_count(rest, 1);
    if (!starts_with(trim(rest), "Parameter")) in.fail(trim(rest), "\"Parameters\" after their number");
  }
  if (file.parameters == 0) in.fail(in.line(), "a line such as \"2 Parameters (b1 and b2)\"");
  for (; !in.at_end() && !starts_with(in.line(), "Starting values"); in.next()) {
    if (!in.line().empty()) file.model_text.append(file.model_text.empty() ? "" : "\n").append(in.line());
  }
}

void correct_misprints(strd_file& file) {
  if (file.name == "Roszman1" && file.certified[0] == 1.20196866396) {
    file.certified[0] = 0.20196866396;
    file.corrected = "certified b1: 0.20196866396 for 1.20196866396";
  } else if (file.name == "Rat43" && file.observations == 15 && file.degrees_of_freedom == 9) {
    file.degrees_of_freedom = 11;
    file.corrected = "degrees of freedom: 11 for 9";
  }
}

void read_certified_values(reader& in, strd_file& file) {
  in.find("Starting values");
  in.find("Start 1");
  for (int k = 1; k <= file.parameters; ++k) {
    in.next();
    in.skip_blank_lines();
    const std::string name = "b" + std::to_string(k);
    const std::string expected = "a line such as \"" + name + " = 500 250 2.389E+02 2.707E+00\"";
    if (in.at_end()) in.fail_at_end(expected);
    std::string_view rest = in.line();
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos || trim(rest.substr(0, equals)) != name) in.fail(rest, expected);
    rest.remove_prefix(equals + 1);
    file.start_1.push_back(in.take_number(rest));
    file.start_2.push_back(in.take_number(rest));
    file.certified.push_back(in.take_number(rest));
    file.certified_deviation.push_back(in.take_number(rest));
    in.expect_line_end(rest);
  }
  const auto number_after = [&](const char* label) {
    std::string_view rest = in.find(label);
    const double value = in.take_number(rest);
    in.expect_line_end(rest);
    return value;
  };
  const auto count_after = [&](const char* label) {
    std::string_view rest = in.find(label);
    const int value = in.take_count(rest, 0);
    in.expect_line_end(rest);
    return value;
  };
  file.residual_sum_of_squares = number_after("Residual Sum of Squares:");
  file.residual_deviation = number_after("Residual Standard Deviation:");
  file.degrees_of_freedom = count_after("Degrees of Freedom:");
  file.observations = count_after("Number of Observations:");
  correct_misprints(file);
  if (file.observations != index_type{file.degrees_of_freedom} + file.parameters) {
    in.fail(in.line(), "as many observations as degrees of freedom and parameters together, " +
                           std::to_string(index_type{file.degrees_of_freedom} + file.parameters));
  }
}

void read_data(reader& in, strd_file& file, const explained& names) {
  std::string_view heading = in.find("Data:");
  const std::string_view whole_heading = heading;
  while (!trim(heading).empty()) {
    const std::string_view column = take_word(heading);
    const auto known = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == column; });
    file.variable_names.emplace_back(known == names.end() ? column : known->second);
  }
  if (file.variable_names.size() < 2) in.fail(whole_heading, "the columns' names, such as \"y x\"");
  file.variables = static_cast<int>(file.variable_names.size()) - 1;
  // Reserve nothing: the file's own count is not to be trusted with memory.
  index_type rows = 0;
  for (in.next(); in.skip_blank_lines(), !in.at_end(); in.next(), ++rows) {
    std::string_view rest = in.line();
    if (rows == file.observations) in.fail(rest, "no data after " + std::to_string(rows) + " observations");
    file.response.push_back(in.take_number(rest));
    for (int v = 0; v < file.variables; ++v) file.predictors.push_back(in.take_number(rest));
    in.expect_line_end(rest);
  }
  if (rows < file.observations) {
    in.fail_at_end(std::to_string(file.observations) + " observations, of which " + std::to_string(rows) +
                   " are there");
  }
}

}  // namespace

strd_file read_strd(const std::string& path) {
  reader in(path);
  strd_file file;
  read_description(in, file);
  explained names;
  for (in.find("Data:"); !in.at_end() && !starts_with(in.line(), "Model:"); in.next()) read_names(in.line(), names);
  read_model(in, file);
  read_certified_values(in, file);
  in.next();
  read_data(in, file, names);
  return file;
}

}  // namespace whilst
