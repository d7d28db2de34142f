#include "data.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "solvers/files/text_file.hpp"
#include "whilst/error.hpp"

namespace whilst::fitting {
namespace {

using detail::blanks, detail::finite_number, detail::quoted, detail::trim;

/// The field without the quotation marks that some programs put around every field.
std::string_view unquoted(std::string_view field) {
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') return field.substr(1, field.size() - 2);
  return field;
}

/// The separator between fields in a line such as this one; ' ' for any amount of blanks.
char separator_of(std::string_view line) {
  for (const char separator : {';', '\t', ','}) {
    if (line.find(separator) != std::string_view::npos) return separator;
  }
  return ' ';
}

std::vector<std::string_view> fields_of(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t end = separator == ' ' ? line.find_first_of(blanks) : line.find(separator);
    fields.push_back(unquoted(trim(line.substr(0, end))));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
    if (separator == ' ') line = trim(line);
  }
}

class column_reader {
 public:
  column_reader(const std::string& path, std::string_view text) : text_(text) { data_.path = path; }

  data_set read() {
    std::string_view rest = text_;
    if (rest.substr(0, 3) == "\xEF\xBB\xBF") rest.remove_prefix(3);  // the byte order mark of some spreadsheets
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      read_line(trim(rest.substr(0, end)));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    if (data_.response.empty()) fail(text_.substr(text_.size()), "the end of the file", "a line of numbers");
    return std::move(data_);
  }

 private:
  [[noreturn]] void fail(std::string_view piece, const std::string& found, const std::string& expected) const {
    detail::fail(data_.path, text_, piece, found, expected);
  }

  void read_line(std::string_view line) {
    if (line.empty() || line[0] == '#') return;
    if (columns_ == 0) separator_ = separator_of(line);
    const std::vector<std::string_view> fields = fields_of(line, separator_);
    if (columns_ == 0) {
      columns_ = fields.size();
      if (columns_ < 2) fail(line, "one column", "the predictors and then the response, as in \"1.5, 2.25\"");
      data_.variables = static_cast<int>(columns_) - 1;
      if (is_heading(fields)) {
        data_.names.assign(fields.begin(), fields.end());
        return;
      }
    }
    if (fields.size() != columns_) {
      fail(line, std::to_string(fields.size()) + (fields.size() == 1 ? " column" : " columns"),
           std::to_string(columns_) + ", as in the first line");
    }
    for (const std::string_view field : fields) {
      const std::optional<double> value = finite_number(field);
      if (!value) fail(field, field.empty() ? "nothing" : quoted(field), "a finite number, as 2.5 or 1e-3");
      row_.push_back(*value);
    }
    data_.predictors.insert(data_.predictors.end(), row_.begin(), row_.end() - 1);
    data_.response.push_back(row_.back());
    row_.clear();
  }

  /// Whether all are names: a line with a number is more likely the first point, with a mistake beside it.
  static bool is_heading(const std::vector<std::string_view>& fields) {
    for (const std::string_view field : fields) {
      if (field.empty() || finite_number(field)) return false;
    }
    return true;
  }

  std::string_view text_;
  data_set data_;
  std::vector<double> row_;
  std::size_t columns_ = 0;  ///< 0 before the first line
  char separator_ = ' ';
};

std::string text_of(const std::string& path) {
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem))
    throw error("reading " + path, "this is a directory", "Give a file");
  std::optional<std::string> text = detail::read_whole_file(path);
  if (!text) throw error("reading " + path, "there is no such file, or it does not open", "Look at its name");
  return std::move(*text);
}

}  // namespace

data_set read_data(const std::string& path) {
  const std::string text = text_of(path);
  constexpr std::string_view heading = "NIST/ITL StRD";
  if (trim(std::string_view(text).substr(0, text.find('\n'))).substr(0, heading.size()) != heading) {
    return column_reader(path, text).read();
  }
  data_set data;
  data.certified = read_strd(path);
  data.path = path;
  data.variables = data.certified->variables;
  data.names.assign(data.certified->variable_names.begin() + 1, data.certified->variable_names.end());
  data.names.push_back(data.certified->variable_names.front());
  data.predictors = data.certified->predictors;
  data.response = data.certified->response;
  return data;
}

}  // namespace whilst::fitting
