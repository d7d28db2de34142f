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

/// One entry of a coordinate file; row and column count from 0.
template <class T>
struct matrix_market_entry {
  std::int32_t row, column;
  T value;
};

/// Reads the text of one file from start to end: the header on construction, then the entries, once.
class reader {
 public:
  reader(std::string_view text, std::string_view name) : scanner_(text, name) { read_header(); }

  const matrix_market_header& header() const { return header_; }

  /// All entries, in file order. T is float or double, here and below.
  template <class T>
  std::vector<matrix_market_entry<T>> read_entries();
  /// The one column of an n x 1 file; entries not listed are zero.
  template <class T>
  std::vector<T> read_column();
  /// Nothing but comments and blank lines may follow the last entry.
  void expect_end();

  /// Fails unless arrays with one element per row are in proportion to the file, or have at most this many elements.
  void check_rows(index_type rows_of_any_file) const;
  /// Fails at the size line, for problems found after the last entry: at size `which` of rows, columns, entries.
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
  void read_array(std::vector<matrix_market_entry<T>>& entries);
  template <class T>
  void read_coordinates(std::vector<matrix_market_entry<T>>& entries);
  /// Mirrors entries above the diagonal to below it, unless the file is general.
  template <class T>
  void mirror_upper_triangle(std::vector<matrix_market_entry<T>>& entries) const;

  scanner scanner_;
  matrix_market_header header_;
  /// Position of the sizes in the text.
  std::array<const char*, 3> sizes_{};
};

}  // namespace whilst::detail::matrix_market
