#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "solvers/files/matrix_market_scanner.hpp"
#include "whilst/files/matrix_market.hpp"

namespace whilst::detail::matrix_market {

/// One entry of a coordinate file, row and column from 0.
template <class T>
struct entry {
  std::int32_t row, column;
  T value;
};

/// Reads the text of one file from its beginning to its end: the header when made, then the entries, once.
class reader {
 public:
  reader(std::string_view text, std::string_view name) : scanner_(text, name) { read_header(); }

  const matrix_market_header& header() const { return header_; }

  /// All entries as the file lists them, in its order. T is float or double, here and below.
  template <class T>
  std::vector<entry<T>> read_entries();
  /// The one column of an n x 1 file, zero where nothing is listed.
  template <class T>
  std::vector<T> read_column();
  /// Nothing but comments and blank lines may follow the last entry.
  void expect_end();

  /// Fails unless arrays with one element a row are in proportion to the file, or there are no more of them than this.
  void check_rows(index_type rows_of_any_file) const;
  /// Fails at the line of the sizes, for what shows up after the last entry: at the size `which` of rows, columns,
  /// entries.
  [[noreturn]] void fail_at_sizes(const std::string& found, const std::string& expected, int which = 0) const {
    scanner_.fail_at(sizes_[which], found, expected);
  }

 private:
  void read_header();
  void read_kind();
  void read_sizes();
  index_type read_size(int which, index_type largest, const char* what);

  std::size_t plausible_entries() const;
  void expect_line_of_entry(index_type number);
  template <class T>
  T read_value();
  template <class T>
  void read_array(std::vector<entry<T>>& entries);
  template <class T>
  void read_coordinates(std::vector<entry<T>>& entries);
  /// Moves what a file that is not general lists above the diagonal to below it.
  template <class T>
  void mirror_upper_triangle(std::vector<entry<T>>& entries) const;

  scanner scanner_;
  matrix_market_header header_;
  /// Where the sizes stand in the text.
  std::array<const char*, 3> sizes_{};
};

}  // namespace whilst::detail::matrix_market
