#include "whilst/matrix_market.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

namespace whilst {

namespace {

using format = matrix_market_format;
using field = matrix_market_field;
using symmetry = matrix_market_symmetry;

constexpr index largest_size = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view banner = "%%MatrixMarket";
constexpr index rows_of_any_file = index{1} << 26;
constexpr std::size_t text_of_any_gzip = std::size_t{64} << 20;
constexpr std::size_t text_per_gzip_byte = 100;

// ---------------------------------------------------------------- messages

/// The message FILE:LINE:COLUMN for the byte `where` of `text`. Lines are counted here, once something went wrong, so
/// that reading keeps no count.
[[noreturn]] void fail(std::string_view name, std::string_view text, std::size_t where, const std::string& found,
                       const std::string& expected) {
  const std::string_view before = text.substr(0, where);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? where + 1 : where - newline;
  throw error(std::string(name) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": found " + found +
              ", expected " + expected);
}

[[noreturn]] void fail(std::string_view name, const std::string& found, const std::string& expected) {
  fail(name, {}, 0, found, expected);
}

/// Text from a file as a message can show it: in quotes, at most 40 bytes, nothing that would upset a terminal.
std::string quoted(std::string_view token) {
  constexpr std::size_t longest = 40;
  std::string shown = "\"";
  for (const char c : token.substr(0, longest)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      shown.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  return shown + (token.size() > longest ? "...\"" : "\"");
}

std::string range(const std::string& what, index smallest, index largest) {
  return what + " from " + std::to_string(smallest) + " to " + std::to_string(largest);
}

// ---------------------------------------------------------------- numbers

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether a decimal number is below one in magnitude, however long its digits or its exponent are. std::from_chars
/// reports numbers too large and numbers too small with one and the same code; this tells them apart.
bool is_below_one(std::string_view number) {
  const std::size_t exponent_mark = number.find_first_of("eE");
  const std::string_view digits = number.substr(0, exponent_mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t leading = digits.find_first_of("123456789");
  if (leading == std::string_view::npos) return true;
  // The number is 0.d... times ten to the power `scale`, where d is the leading digit.
  std::int64_t scale = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(leading);
  if (leading > point) ++scale;
  if (exponent_mark != std::string_view::npos) {
    std::string_view exponent = number.substr(exponent_mark + 1);
    const bool negative = exponent.starts_with('-');
    if (exponent.starts_with('+') || negative) exponent.remove_prefix(1);
    std::int64_t power = 0;
    const auto [end, problem] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
    if (problem == std::errc::result_out_of_range) return negative;
    scale += negative ? -power : power;
  }
  return scale <= 0;
}

// ---------------------------------------------------------------- reading text

/// One entry of a coordinate file, row and column from 0.
template <class T>
struct entry {
  std::int32_t row, column;
  T value;
};

/// Reads lines of tokens, and fails with the place where it stands.
class reader {
 public:
  reader(std::string_view text, std::string_view name)
      : name_(name), text_(text), here_(text.data()), end_(text.data() + text.size()) {}

  matrix_market_header read_header();
  template <class T>
  std::vector<entry<T>> read_entries(const matrix_market_header& header);
  template <class T>
  std::vector<T> read_column(const matrix_market_header& header);
  /// Nothing but comments and blank lines may follow the last entry.
  void expect_end(const matrix_market_header& header);

  /// Fails at the line of the sizes, for what is wrong with them or shows up after the last entry.
  [[noreturn]] void fail_at_sizes(const std::string& found, const std::string& expected, int token = 0) const {
    fail_at(sizes_[token], found, expected);
  }
  /// Fails unless arrays with one element a row are in proportion to the file.
  void check_rows(const matrix_market_header& header) const;

 private:
  [[noreturn]] void fail_at(const char* where, const std::string& found, const std::string& expected) const {
    fail(name_, text_, static_cast<std::size_t>(where - text_.data()), found, expected);
  }
  /// Fails at the token that starts at `where`, or at the end of the line or of the file, if that is there.
  [[noreturn]] void fail_at_token(const char* where, const std::string& expected) const {
    const std::string_view token = token_at(where);
    if (!token.empty()) fail_at(where, quoted(token), expected);
    fail_at(where, where == end_ ? "the end of the file" : "the end of the line", expected);
  }

  bool is_line_end(const char* p) const {
    return p == end_ || *p == '\n' || (*p == '\r' && (p + 1 == end_ || p[1] == '\n'));
  }
  bool is_token_end(const char* p) const { return p == end_ || *p == ' ' || *p == '\t' || is_line_end(p); }
  void skip_blanks() {
    while (here_ != end_ && (*here_ == ' ' || *here_ == '\t')) ++here_;
  }
  void skip_line() {
    const void* newline = here_ == end_ ? nullptr : std::memchr(here_, '\n', static_cast<std::size_t>(end_ - here_));
    here_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
  }
  /// Goes on to the first token of the next line that is neither a comment nor blank; false at the end of the file.
  bool skip_to_line() {
    for (;; skip_line()) {
      skip_blanks();
      if (here_ == end_) return false;
      if (*here_ != '%' && !is_line_end(here_)) return true;
    }
  }
  std::string_view token_at(const char* p) const {
    const char* last = p;
    while (!is_token_end(last)) ++last;
    return {p, static_cast<std::size_t>(last - p)};
  }
  void expect_line_end() {
    skip_blanks();
    if (!is_line_end(here_)) fail_at_token(here_, "the end of the line");
    if (here_ != end_ && *here_ == '\r') ++here_;
    if (here_ != end_) ++here_;
  }

  template <class Enumeration, std::size_t n>
  Enumeration read_word(const std::pair<std::string_view, Enumeration> (&words)[n]);
  index read_whole_number(index smallest, index largest, const char* what);
  template <class T>
  T read_value(field kind);

  std::string_view name_, text_;
  const char* here_;
  const char* end_;
  std::array<const char*, 3> sizes_{};
};

template <class Enumeration, std::size_t n>
Enumeration reader::read_word(const std::pair<std::string_view, Enumeration> (&words)[n]) {
  skip_blanks();
  const std::string_view token = token_at(here_);
  std::string expected;
  for (const auto& [word, meaning] : words) {
    const bool same = std::equal(token.begin(), token.end(), word.begin(), word.end(), [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
    if (same) {
      here_ += token.size();
      return meaning;
    }
    expected.append(expected.empty() ? "" : " or ").append(word);
  }
  fail_at_token(here_, expected);
}

index reader::read_whole_number(index smallest, index largest, const char* what) {
  // What has more digits is far above every limit asked for; wrapped around, it is not looked at.
  constexpr std::ptrdiff_t most_digits = 18;
  skip_blanks();
  const char* p = here_;
  std::uint64_t value = 0;
  for (; p != end_ && is_digit(*p); ++p) value = value * 10 + static_cast<std::uint64_t>(*p - '0');
  const std::ptrdiff_t digits = p - here_;
  const auto number = static_cast<index>(value);
  if (digits == 0 || digits > most_digits || !is_token_end(p) || number < smallest || number > largest) {
    fail_at_token(here_, range(what, smallest, largest));
  }
  here_ = p;
  return number;
}

template <class T>
T reader::read_value(field kind) {
  if (kind == field::pattern) return 1;
  skip_blanks();
  const char* const start = here_;
  // std::from_chars takes no plus sign.
  const char* const number = start != end_ && *start == '+' && start + 1 != end_ && start[1] != '-' ? start + 1 : start;
  if (kind == field::integer) {
    std::int64_t value = 0;
    const auto [last, problem] = std::from_chars(number, end_, value);
    if (problem != std::errc{} || !is_token_end(last)) fail_at_token(start, "an integer of at most 64 bits");
    here_ = last;
    return static_cast<T>(value);
  }
  T value = 0;
  const auto [last, problem] = std::from_chars(number, end_, value);
  here_ = last;
  if (problem == std::errc::result_out_of_range && is_token_end(last) && is_below_one({number, last})) {
    return *number == '-' ? -T{0} : T{0};
  }
  if (problem != std::errc{} || !is_token_end(last) || !std::isfinite(value)) {
    fail_at_token(start, sizeof(T) == sizeof(double) ? "a finite number within the range of double"
                                                     : "a finite number within the range of float");
  }
  return value;
}

matrix_market_header reader::read_header() {
  matrix_market_header result;
  if (text_.empty()) fail_at(here_, "an empty file", "a first line that starts with %%MatrixMarket");
  if (token_at(here_) != banner) {
    fail_at(here_, is_token_end(here_) ? "a blank" : quoted(token_at(here_)),
            "a first line that starts with %%MatrixMarket");
  }
  here_ += banner.size();
  read_word<int>({{"matrix", 0}});
  result.format = read_word<format>({{"coordinate", format::coordinate}, {"array", format::array}});
  // A pattern without places, or one with signs, would say nothing.
  result.field =
      result.format == format::array
          ? read_word<field>({{"real", field::real}, {"integer", field::integer}})
          : read_word<field>({{"real", field::real}, {"integer", field::integer}, {"pattern", field::pattern}});
  result.symmetry = result.field == field::pattern
                        ? read_word<symmetry>({{"general", symmetry::general}, {"symmetric", symmetry::symmetric}})
                        : read_word<symmetry>({{"general", symmetry::general},
                                               {"symmetric", symmetry::symmetric},
                                               {"skew-symmetric", symmetry::skew_symmetric}});
  expect_line_end();

  const auto read_size = [&](int which, index largest, const char* what) {
    skip_blanks();
    sizes_[which] = here_;
    return read_whole_number(0, largest, what);
  };
  skip_to_line();
  result.rows = read_size(0, largest_size, "a number of rows");
  result.columns = read_size(1, largest_size, "a number of columns");
  if (result.symmetry != symmetry::general && result.rows != result.columns) {
    fail_at_sizes(std::to_string(result.columns) + " columns",
                  std::to_string(result.rows) + ", as rows, in a matrix that is not general", 1);
  }
  if (result.format == format::coordinate) {
    // Both sizes fit 31 bits, so their product fits 62.
    const index most = result.rows == 0 || result.columns == 0 ? 0 : index{10'000'000'000'000'000};
    result.entries = read_size(2, most, "a number of entries");
  } else if (result.symmetry == symmetry::general) {
    result.entries = result.rows * result.columns;
  } else {
    const index diagonal = result.symmetry == symmetry::symmetric ? 1 : -1;
    result.entries = result.rows * (result.rows + diagonal) / 2;
  }
  expect_line_end();
  return result;
}

void reader::check_rows(const matrix_market_header& header) const {
  if (header.rows > rows_of_any_file && std::cmp_greater(header.rows, text_.size())) {
    fail_at_sizes(std::to_string(header.rows) + " rows in a file of " + std::to_string(text_.size()) + " bytes",
                  "at most " + std::to_string(rows_of_any_file) + " rows, or one for each byte");
  }
}

/// How many of the declared entries can be in the bytes that are left; the shortest line of an entry is a digit and a
/// newline for an array, four bytes for a pattern, six else.
std::size_t plausible(const matrix_market_header& header, std::size_t bytes_left) {
  const std::size_t shortest = header.format == format::array ? 2 : header.field == field::pattern ? 4 : 6;
  return std::min(static_cast<std::size_t>(header.entries), bytes_left / shortest + 1);
}

template <class T>
std::vector<entry<T>> reader::read_entries(const matrix_market_header& header) {
  const bool general = header.symmetry == symmetry::general;
  const bool skew = header.symmetry == symmetry::skew_symmetric;
  const auto expect_line = [&](index number) {
    if (!skip_to_line()) {
      fail_at(here_, "the end of the file after " + std::to_string(number) + " entries",
              std::to_string(header.entries) + " entries");
    }
  };
  std::vector<entry<T>> entries;
  entries.reserve(plausible(header, static_cast<std::size_t>(end_ - here_)));

  if (header.format == format::array) {
    for (index column = 0, number = 0; number < header.entries; ++column) {
      for (index row = general ? 0 : skew ? column + 1 : column; row < header.rows; ++row, ++number) {
        expect_line(number);
        const T value = read_value<T>(header.field);
        entries.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(column), value});
        expect_line_end();
      }
    }
    return entries;
  }

  for (index number = 0; number < header.entries; ++number) {
    expect_line(number);
    const char* const start = here_;
    const index row = read_whole_number(1, header.rows, "a row index");
    const index column = read_whole_number(1, header.columns, "a column index");
    if (!general && column > row) {
      fail_at(start, "an entry above the diagonal", "the lower triangle only, as the matrix is not general");
    }
    const T value = read_value<T>(header.field);
    if (skew && row == column && value != 0) {
      fail_at(start, "an entry on the diagonal", "none, or zero, as the matrix is skew-symmetric");
    }
    entries.push_back({static_cast<std::int32_t>(row - 1), static_cast<std::int32_t>(column - 1), value});
    expect_line_end();
  }
  return entries;
}

template <class T>
std::vector<T> reader::read_column(const matrix_market_header& header) {
  std::vector<T> column;
  if (header.format == format::array && header.symmetry == symmetry::general) {
    column.reserve(plausible(header, static_cast<std::size_t>(end_ - here_)));
    for (index number = 0; number < header.entries; ++number) {
      if (!skip_to_line()) {
        fail_at(here_, "the end of the file after " + std::to_string(number) + " entries",
                std::to_string(header.entries) + " entries");
      }
      column.push_back(read_value<T>(header.field));
      expect_line_end();
    }
    return column;
  }
  const std::vector<entry<T>> entries = read_entries<T>(header);
  check_rows(header);
  column.assign(static_cast<std::size_t>(header.rows), T{0});
  for (const entry<T>& e : entries) {
    T& sum = column[static_cast<std::size_t>(e.row)];
    sum += e.value;
    if (!std::isfinite(sum)) {
      fail_at_sizes("entries for row " + std::to_string(e.row + 1) + " that sum to infinity", "a finite sum");
    }
  }
  return column;
}

void reader::expect_end(const matrix_market_header& header) {
  if (skip_to_line()) {
    fail_at(here_, quoted(token_at(here_)) + " after the last of " + std::to_string(header.entries) + " entries",
            "the end of the file");
  }
}

// ---------------------------------------------------------------- from entries to rows

/// Sorts one row by column, in a way that keeps entries with the same column in the order of the file.
template <class T>
void sort_row(std::span<std::int32_t> columns, std::span<T> values, std::vector<std::pair<std::int32_t, T>>& scratch) {
  if (std::is_sorted(columns.begin(), columns.end())) return;
  constexpr std::size_t short_row = 24;
  if (columns.size() <= short_row) {
    for (std::size_t i = 1; i < columns.size(); ++i) {
      const std::int32_t column = columns[i];
      const T value = values[i];
      std::size_t j = i;
      for (; j > 0 && columns[j - 1] > column; --j) {
        columns[j] = columns[j - 1];
        values[j] = values[j - 1];
      }
      columns[j] = column;
      values[j] = value;
    }
    return;
  }
  scratch.clear();
  for (std::size_t i = 0; i < columns.size(); ++i) scratch.emplace_back(columns[i], values[i]);
  std::stable_sort(scratch.begin(), scratch.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < columns.size(); ++i) std::tie(columns[i], values[i]) = scratch[i];
}

/// Counts the entries of each row, drops each entry into the next free place of its row, and sorts the rows that need
/// it. Files sorted by column, as most are, fall into place sorted.
template <class Offset, class T>
csr_matrix<T> assemble(const reader& file, const matrix_market_header& header, std::vector<entry<T>> entries) {
  const bool mirrored = header.symmetry != symmetry::general;
  const T sign = header.symmetry == symmetry::skew_symmetric ? T{-1} : T{1};
  const auto rows = static_cast<std::size_t>(header.rows);

  // One place further than they belong, so that filling the rows moves every offset to where it belongs.
  std::vector<Offset> offsets(rows + 2);
  for (const entry<T>& e : entries) {
    ++offsets[static_cast<std::size_t>(e.row) + 2];
    if (mirrored && e.row != e.column) ++offsets[static_cast<std::size_t>(e.column) + 2];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  const auto nonzeros = static_cast<std::size_t>(offsets.back());
  std::vector<std::int32_t> columns(nonzeros);
  std::vector<T> values(nonzeros);
  const auto place = [&](std::int32_t row, std::int32_t column, T value) {
    const auto k = static_cast<std::size_t>(offsets[static_cast<std::size_t>(row) + 1]++);
    columns[k] = column;
    values[k] = value;
  };
  for (const entry<T>& e : entries) {
    place(e.row, e.column, e.value);
    if (mirrored && e.row != e.column) place(e.column, e.row, sign * e.value);
  }
  offsets.pop_back();
  entries = {};

  std::vector<std::pair<std::int32_t, T>> scratch;
  std::size_t kept = 0;
  for (std::size_t row = 0, first = 0; row < rows; ++row) {
    const auto last = static_cast<std::size_t>(offsets[row + 1]);
    sort_row(std::span(columns).subspan(first, last - first), std::span(values).subspan(first, last - first), scratch);
    const std::size_t row_start = kept;
    for (std::size_t k = first; k < last; ++k) {
      if (kept > row_start && columns[kept - 1] == columns[k]) {
        values[kept - 1] += values[k];
        if (!std::isfinite(values[kept - 1])) {
          file.fail_at_sizes("entries for row " + std::to_string(row + 1) + " and column " +
                                 std::to_string(columns[k] + 1) + " that sum to infinity",
                             "a finite sum");
        }
      } else {
        columns[kept] = columns[k];
        values[kept] = values[k];
        ++kept;
      }
    }
    offsets[row + 1] = static_cast<Offset>(kept);
    first = last;
  }
  columns.resize(kept);
  values.resize(kept);
  return csr_matrix<T>::adopt(header.rows, header.columns, std::move(offsets), std::move(columns), std::move(values));
}

// ---------------------------------------------------------------- bytes of a file

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

/// The text of a gzip file, all members of it. Of the beginning of a file (`whole` is false) it gives what is there.
std::string gunzip(std::string_view bytes, std::string_view name, bool whole) {
  constexpr std::size_t chunk = std::size_t{1} << 30;
  const std::size_t limit = std::max(text_of_any_gzip, bytes.size() * text_per_gzip_byte);
  z_stream stream{};
  // 15 bits of window, and 16 for "gzip, nothing else".
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  std::string text;
  std::size_t used = 0, size = 0;
  for (;;) {
    if (size == text.size()) text.resize(std::min(limit + 1, std::max(4 * bytes.size(), 2 * size) + 4096));
    const std::size_t given = std::min(bytes.size() - used, chunk);
    const std::size_t room = std::min(text.size() - size, chunk);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + used));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + size);
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    used += given - stream.avail_in;
    size += room - stream.avail_out;
    const auto fail_here = [&](const std::string& found, const std::string& expected) {
      fail(name, std::string_view(text).substr(0, size), size, found, expected);
    };
    if (size > limit) {
      fail_here("more than " + std::to_string(limit) + " bytes of text in a gzip file of " +
                    std::to_string(bytes.size()) + " bytes",
                "at most 64 MiB, or 100 times the file; decompress the file first if it is to be trusted");
    }
    if (status == Z_STREAM_END) {
      if (used == bytes.size()) break;
      if (!is_gzip(bytes.substr(used))) {
        fail_here(std::to_string(bytes.size() - used) + " bytes after the end of the gzip data", "the end of the file");
      }
      inflateReset(&stream);
    } else if (status == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail_here(std::string("broken gzip data (") + (stream.msg != nullptr ? stream.msg : "preset dictionary") + ")",
                "an intact gzip file");
    } else if (used == bytes.size() && stream.avail_out != 0) {
      if (!whole) break;
      fail_here("the end of the file within its gzip data", "an intact gzip file");
    }
  }
  text.resize(size);
  return text;
}

/// The file's first bytes, at most `limit` of them.
std::string read_bytes(const std::filesystem::path& path, std::size_t limit) {
  const std::string name = path.string();
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) fail(name, "no such file", "a Matrix Market file");
  if (std::filesystem::is_directory(status)) fail(name, "a directory", "a Matrix Market file");
  const bool regular = std::filesystem::is_regular_file(status);
  if (!regular && !std::filesystem::is_fifo(status)) fail(name, "a device or a socket", "a Matrix Market file");

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr)
    fail(name, "a file that does not open (" + std::generic_category().message(errno) + ")", "one that can be read");
  // The buffer would only be copied from.
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  std::uintmax_t expected = regular ? std::filesystem::file_size(path, problem) : 0;
  if (problem) expected = 0;
  // The first bytes alone tell a file of another kind, however large: they are all that is needed to refuse it.
  std::string bytes(std::min<std::size_t>(limit, 4096), '\0');
  std::size_t size = std::fread(bytes.data(), 1, bytes.size(), file.get());
  const bool promising = is_gzip(bytes) || bytes.starts_with(banner);
  while (promising && size == bytes.size() && size < limit) {
    // One byte more than there should be, so that a short count says that the end was reached.
    const std::size_t rest = std::min<std::uintmax_t>(expected, limit - 1) + 1;
    bytes.resize(std::max(rest, std::min(limit, 2 * size)));
    size += std::fread(bytes.data() + size, 1, bytes.size() - size, file.get());
  }
  if (std::ferror(file.get()) != 0) {
    fail(name, "a file that cannot be read to its end (" + std::generic_category().message(errno) + ")",
         "one that can be read");
  }
  bytes.resize(size);
  return bytes;
}

/// Running out of memory over a file is a fact about the file, told like the others.
template <class Read>
auto with_memory_named(std::string_view name, Read read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  fail(name, "more data than there is memory for", "a file that fits into memory");
}

/// Calls `parse` with the text that `bytes` stand for.
template <class Parse>
auto parse_bytes(std::string_view bytes, std::string_view name, Parse parse) {
  if (!is_gzip(bytes)) return parse(bytes);
  const std::string text = gunzip(bytes, name, true);
  return parse(std::string_view(text));
}

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max() / 4;

/// Whether the beginning of a file reaches beyond the line of the sizes.
bool holds_header(std::string_view text) {
  bool first_line = true;
  for (std::size_t newline; (newline = text.find('\n')) != std::string_view::npos; text.remove_prefix(newline + 1)) {
    const std::size_t mark = text.find_first_not_of(" \t\r");
    if (!first_line && mark < newline && text[mark] != '%') return true;
    first_line = false;
  }
  return false;
}

template <class T>
csr_matrix<T> parse_matrix_text(std::string_view text, std::string_view name) {
  reader file(text, name);
  const matrix_market_header header = file.read_header();
  std::vector<entry<T>> entries = file.read_entries<T>(header);
  file.expect_end(header);
  file.check_rows(header);
  // A symmetric file may store nearly two nonzeros an entry.
  const std::size_t nonzeros = header.symmetry == symmetry::general ? entries.size() : 2 * entries.size();
  return nonzeros <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())
             ? assemble<std::int32_t>(file, header, std::move(entries))
             : assemble<std::int64_t>(file, header, std::move(entries));
}

template <class T>
std::vector<T> parse_vector_text(std::string_view text, std::string_view name) {
  reader file(text, name);
  const matrix_market_header header = file.read_header();
  if (header.columns != 1) file.fail_at_sizes(std::to_string(header.columns) + " columns", "1, as a vector has", 1);
  std::vector<T> result = file.read_column<T>(header);
  file.expect_end(header);
  return result;
}

}  // namespace

matrix_market_header read_matrix_market_header(const std::filesystem::path& path) {
  const std::string name = path.string();
  return with_memory_named(name, [&] {
    for (std::size_t limit = std::size_t{1} << 16;; limit *= 16) {
      std::string text = read_bytes(path, limit);
      const bool whole = text.size() < limit;
      if (is_gzip(text)) text = gunzip(text, name, whole);
      if (whole || holds_header(text)) return reader(text, name).read_header();
    }
  });
}

matrix_market_header parse_matrix_market_header(std::string_view text, std::string_view name) {
  return with_memory_named(name, [&] {
    return parse_bytes(text, name, [&](std::string_view plain) { return reader(plain, name).read_header(); });
  });
}

template <class T>
csr_matrix<T> parse_matrix(std::string_view text, std::string_view name) {
  return with_memory_named(name, [&] {
    return parse_bytes(text, name, [&](std::string_view plain) { return parse_matrix_text<T>(plain, name); });
  });
}

template <class T>
std::vector<T> parse_vector(std::string_view text, std::string_view name) {
  return with_memory_named(name, [&] {
    return parse_bytes(text, name, [&](std::string_view plain) { return parse_vector_text<T>(plain, name); });
  });
}

template <class T>
csr_matrix<T> read_matrix(const std::filesystem::path& path) {
  const std::string name = path.string();
  return with_memory_named(name, [&] { return parse_matrix<T>(read_bytes(path, no_limit), name); });
}

template <class T>
std::vector<T> read_vector(const std::filesystem::path& path) {
  const std::string name = path.string();
  return with_memory_named(name, [&] { return parse_vector<T>(read_bytes(path, no_limit), name); });
}

// ---------------------------------------------------------------- writing

namespace {

/// A file that appears under its name once it is complete, and not at all otherwise.
class new_file {
 public:
  explicit new_file(const std::filesystem::path& path) : doing_("writing " + path.string()) {
    std::error_code problem;
    // What a symbolic link points to is replaced, not the link.
    target_ = std::filesystem::weakly_canonical(path, problem);
    if (problem) target_ = path;
    const auto status = std::filesystem::status(target_, problem);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      throw error(doing_, "it exists and is not a regular file", "Give the name of a file");
    }
    static std::atomic<unsigned> count{0};
    temporary_ = target_;
    temporary_ += "." + std::to_string(getpid()) + "-" + std::to_string(count++) + ".part";
    file_ = std::fopen(temporary_.c_str(), "wbx");
    if (file_ == nullptr) refuse(errno);
  }
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;
  ~new_file() {
    if (file_ != nullptr) std::fclose(file_);
    std::error_code ignored;
    if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
  }

  void add(std::string_view text) {
    constexpr std::size_t enough = std::size_t{1} << 18;
    buffer_ += text;
    if (buffer_.size() >= enough) flush();
  }
  template <class Number>
  void add_number(Number number) {
    // Longer than the shortest form of any double or 64-bit integer.
    std::array<char, 32> digits;
    const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    add({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  template <class T>
  void add_value(T value, index row, index column) {
    if (!std::isfinite(value)) {
      throw error(doing_,
                  "the value in row " + std::to_string(row) + " and column " + std::to_string(column) +
                      " (from 0) is NaN or infinite, which the format cannot say",
                  "Write finite values");
    }
    add_number(value);
  }

  void finish() {
    flush();
    if (std::fclose(std::exchange(file_, nullptr)) != 0) refuse(errno);
    std::error_code problem;
    std::filesystem::rename(temporary_, target_, problem);
    if (problem) refuse(problem.value());
    temporary_.clear();
  }

 private:
  void flush() {
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) refuse(errno);
    buffer_.clear();
  }
  [[noreturn]] void refuse(int problem) const {
    throw error(doing_, std::generic_category().message(problem), "Choose a directory that can be written to");
  }

  std::string doing_;
  std::filesystem::path target_, temporary_;
  std::FILE* file_ = nullptr;
  std::string buffer_;
};

}  // namespace

template <class T>
void write_matrix(const std::filesystem::path& path, const csr_matrix<T>& matrix) {
  const auto columns = matrix.column_indices();
  const auto values = matrix.values();
  new_file file(path);
  file.add("%%MatrixMarket matrix coordinate real general\n");
  file.add_number(matrix.rows());
  file.add(" ");
  file.add_number(matrix.columns());
  file.add(" ");
  file.add_number(matrix.nonzeros());
  file.add("\n");
  for (index row = 0; row < matrix.rows(); ++row) {
    const index last = matrix.row_offset(row + 1);
    for (index k = matrix.row_offset(row); k < last; ++k) {
      file.add_number(row + 1);
      file.add(" ");
      file.add_number(index{columns[k]} + 1);
      file.add(" ");
      file.add_value(values[k], row, columns[k]);
      file.add("\n");
    }
  }
  file.finish();
}

template <class T>
void write_vector(const std::filesystem::path& path, std::span<const T> vector) {
  new_file file(path);
  file.add("%%MatrixMarket matrix array real general\n");
  file.add_number(vector.size());
  file.add(" 1\n");
  for (std::size_t row = 0; row < vector.size(); ++row) {
    file.add_value(vector[row], static_cast<index>(row), 0);
    file.add("\n");
  }
  file.finish();
}

template csr_matrix<float> read_matrix(const std::filesystem::path&);
template csr_matrix<double> read_matrix(const std::filesystem::path&);
template csr_matrix<float> parse_matrix(std::string_view, std::string_view);
template csr_matrix<double> parse_matrix(std::string_view, std::string_view);
template std::vector<float> read_vector(const std::filesystem::path&);
template std::vector<double> read_vector(const std::filesystem::path&);
template std::vector<float> parse_vector(std::string_view, std::string_view);
template std::vector<double> parse_vector(std::string_view, std::string_view);
template void write_matrix(const std::filesystem::path&, const csr_matrix<float>&);
template void write_matrix(const std::filesystem::path&, const csr_matrix<double>&);
template void write_vector(const std::filesystem::path&, std::span<const float>);
template void write_vector(const std::filesystem::path&, std::span<const double>);

}  // namespace whilst
