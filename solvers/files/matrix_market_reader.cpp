#include "solvers/files/matrix_market_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "solvers/files/matrix_market_bytes.hpp"
#include "solvers/files/text_file.hpp"

namespace whilst::detail::matrix_market {

using format = matrix_market_format;
using field = matrix_market_field;
using symmetry = matrix_market_symmetry;

// ---------------------------------------------------------------- header

void reader::read_header() {
  read_kind();
  read_sizes();
}

void reader::read_kind() {
  const std::string_view first = scanner_.token();
  if (first.size() != banner.size() || !starts_with_banner(first)) {
    scanner_.fail_at(scanner_.here(),
                     scanner_.text().empty() ? "an empty file"
                     : first.empty()         ? "a blank"
                                             : quoted(first),
                     "a first line that starts with %%MatrixMarket");
  }
  scanner_.skip(first);
  scanner_.read_word<int>({{"matrix", 0}});
  header_.format = scanner_.read_word<format>({{"coordinate", format::coordinate}, {"array", format::array}});
  // A pattern without positions, or one with signs, has no meaning.
  header_.field =
      header_.format == format::array
          ? scanner_.read_word<field>({{"real", field::real}, {"double", field::real}, {"integer", field::integer}})
          : scanner_.read_word<field>({{"real", field::real},
                                       {"double", field::real},
                                       {"integer", field::integer},
                                       {"pattern", field::pattern}});
  header_.symmetry =
      header_.field == field::pattern
          ? scanner_.read_word<symmetry>({{"general", symmetry::general}, {"symmetric", symmetry::symmetric}})
          : scanner_.read_word<symmetry>({{"general", symmetry::general},
                                          {"symmetric", symmetry::symmetric},
                                          {"skew-symmetric", symmetry::skew_symmetric}});
  scanner_.expect_line_end();
}

index_type reader::read_size(int which, index_type largest, const char* what) {
  scanner_.skip_blanks();
  sizes_[which] = scanner_.here();
  return scanner_.read_whole_number(0, largest, what);
}

void reader::read_sizes() {
  constexpr index_type largest = std::numeric_limits<std::int32_t>::max();
  scanner_.skip_to_line();
  const index_type rows = header_.rows = read_size(0, largest, "a number of rows");
  const index_type columns = header_.columns = read_size(1, largest, "a number of columns");
  if (header_.symmetry != symmetry::general && rows != columns) {
    fail_at_sizes(std::to_string(columns) + " columns",
                  std::to_string(rows) + ", as rows, in a matrix that is not general", 1);
  }
  if (header_.format == format::coordinate) {
    const index_type most = rows == 0 || columns == 0 ? 0 : index_type{10'000'000'000'000'000};
    header_.entries = read_size(2, most, "a number of entries");
  } else if (header_.symmetry == symmetry::general) {
    // Both sizes fit in 31 bits, so their product fits in 62.
    header_.entries = rows * columns;
  } else {
    const index_type diagonal = header_.symmetry == symmetry::symmetric ? 1 : -1;
    header_.entries = rows * (rows + diagonal) / 2;
  }
  scanner_.expect_line_end();
}

void reader::check_rows(index_type rows_of_any_file) const {
  const std::size_t bytes = scanner_.text().size();
  if (header_.rows > rows_of_any_file && std::cmp_greater(header_.rows, bytes)) {
    fail_at_sizes(std::to_string(header_.rows) + " rows in a file of " + std::to_string(bytes) + " bytes",
                  "at most " + std::to_string(rows_of_any_file) + " rows, or one for each byte");
  }
}

/// Looks positions up in both triangles: an entry listed in each would count twice.
template <class T>
void reader::mirror_upper_triangle(std::vector<matrix_market_entry<T>>& entries) const {
  using place = std::pair<std::int32_t, std::int32_t>;
  std::vector<place> upper;
  for (const matrix_market_entry<T>& e : entries) {
    if (e.row < e.column) upper.emplace_back(e.column, e.row);
  }
  std::sort(upper.begin(), upper.end());
  const T sign = header_.symmetry == symmetry::skew_symmetric ? T{-1} : T{1};
  for (matrix_market_entry<T>& e : entries) {
    if (e.row < e.column) {
      e = {e.column, e.row, sign * e.value};
    } else if (std::binary_search(upper.begin(), upper.end(), place(e.row, e.column))) {
      fail_at_sizes("entries for row " + std::to_string(e.row + 1) + " and column " + std::to_string(e.column + 1) +
                        " and for their mirror image",
                    "one triangle only, as the matrix is not general");
    }
  }
}

// ---------------------------------------------------------------- entries

/// How many of the declared entries fit in the remaining bytes; the shortest entry line is a digit and a newline for an
/// array, four bytes for a pattern, otherwise six.
std::size_t reader::plausible_entries() const {
  const std::size_t shortest = header_.format == format::array ? 2 : header_.field == field::pattern ? 4 : 6;
  return std::min(static_cast<std::size_t>(header_.entries), scanner_.bytes_left() / shortest + 1);
}

/// Moves on to entry `number`, from 0.
void reader::expect_line_of_entry(index_type number) {
  if (!scanner_.skip_to_line()) {
    scanner_.fail_at(scanner_.here(), "the end of the file after " + std::to_string(number) + " entries",
                     std::to_string(header_.entries) + " entries");
  }
}

template <class T>
T reader::read_value() {
  if (header_.field == field::pattern) return 1;
  if (header_.field == field::integer) return static_cast<T>(scanner_.read_integer());
  return scanner_.read_real<T>();
}

template <class T>
void reader::read_array(std::vector<matrix_market_entry<T>>& entries) {
  const bool general = header_.symmetry == symmetry::general;
  const index_type diagonal = header_.symmetry == symmetry::skew_symmetric ? 1 : 0;
  for (index_type column = 0, number = 0; number < header_.entries; ++column) {
    for (index_type row = general ? 0 : column + diagonal; row < header_.rows; ++row, ++number) {
      expect_line_of_entry(number);
      entries.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(column), read_value<T>()});
      scanner_.expect_line_end();
    }
  }
}

template <class T>
void reader::read_coordinates(std::vector<matrix_market_entry<T>>& entries) {
  const bool general = header_.symmetry == symmetry::general;
  const bool skew = header_.symmetry == symmetry::skew_symmetric;
  bool has_upper = false;
  for (index_type number = 0; number < header_.entries; ++number) {
    expect_line_of_entry(number);
    const char* const start = scanner_.here();
    const index_type row = scanner_.read_whole_number(1, header_.rows, "a row index");
    const index_type column = scanner_.read_whole_number(1, header_.columns, "a column index");
    has_upper = has_upper || column > row;
    const T value = read_value<T>();
    if (skew && row == column && value != 0) {
      scanner_.fail_at(start, "an entry on the diagonal", "none, or zero, as the matrix is skew-symmetric");
    }
    entries.push_back({static_cast<std::int32_t>(row - 1), static_cast<std::int32_t>(column - 1), value});
    scanner_.expect_line_end();
  }
  if (has_upper && !general) mirror_upper_triangle(entries);
}

template <class T>
std::vector<matrix_market_entry<T>> reader::read_entries() {
  std::vector<matrix_market_entry<T>> entries;
  entries.reserve(plausible_entries());
  header_.format == format::array ? read_array(entries) : read_coordinates(entries);
  return entries;
}

template <class T>
std::vector<T> reader::read_column() {
  if (header_.columns != 1) fail_at_sizes(std::to_string(header_.columns) + " columns", "1, as a vector has", 1);
  std::vector<T> column;
  if (header_.format == format::array && header_.symmetry == symmetry::general) {
    column.reserve(plausible_entries());
    for (index_type number = 0; number < header_.entries; ++number) {
      expect_line_of_entry(number);
      column.push_back(read_value<T>());
      scanner_.expect_line_end();
    }
    return column;
  }
  const std::vector<matrix_market_entry<T>> entries = read_entries<T>();
  // Loads on a few of many points look like this: at most 128 MiB for next to no text.
  check_rows(index_type{1} << 24);
  column.assign(static_cast<std::size_t>(header_.rows), T{0});
  for (const matrix_market_entry<T>& e : entries) {
    T& sum = column[static_cast<std::size_t>(e.row)];
    sum += e.value;
    if (!std::isfinite(sum)) {
      fail_at_sizes("entries for row " + std::to_string(e.row + 1) + " that sum to infinity", "a finite sum");
    }
  }
  return column;
}

void reader::expect_end() {
  if (scanner_.skip_to_line()) {
    scanner_.fail_at(scanner_.here(),
                     quoted(scanner_.token()) + " after the last of " + std::to_string(header_.entries) + " entries",
                     "the end of the file");
  }
}

template std::vector<matrix_market_entry<float>> reader::read_entries();
template std::vector<matrix_market_entry<double>> reader::read_entries();
template std::vector<float> reader::read_column();
template std::vector<double> reader::read_column();

}  // namespace whilst::detail::matrix_market
