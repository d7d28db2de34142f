#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "whilst/basics/index_type.hpp"

namespace whilst::detail::matrix_market {

inline char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Reads lines of tokens from a text that it does not own; errors give the current position. Code that runs once per
/// token is in this header, to be inlined.
class scanner {
 public:
  scanner(std::string_view text, std::string_view name)
      : name_(name), text_(text), here_(text.data()), end_(text.data() + text.size()) {}

  std::string_view text() const { return text_; }
  const char* here() const { return here_; }
  std::size_t bytes_left() const { return static_cast<std::size_t>(end_ - here_); }

  /// Fails at the byte `where` of the text.
  [[noreturn]] void fail_at(const char* where, const std::string& found, const std::string& expected) const;
  /// Fails at the token that starts at `where`, or at the end of the line or of the file if there is none.
  [[noreturn]] void fail_at_token(const char* where, const std::string& expected) const;

  /// Moves on to the first token of the next line that is neither a comment nor blank; false at the end of the file.
  bool skip_to_line() {
    for (;; skip_line()) {
      skip_blanks();
      if (here_ == end_) return false;
      if (*here_ != '%' && !is_line_end(here_)) return true;
    }
  }
  void skip_blanks() {
    while (here_ != end_ && (*here_ == ' ' || *here_ == '\t')) ++here_;
  }
  void expect_line_end() {
    skip_blanks();
    if (!is_line_end(here_)) fail_at_token(here_, "the end of the line");
    if (here_ != end_ && *here_ == '\r') ++here_;
    if (here_ != end_) ++here_;
  }

  /// The token that starts here, empty at the end of a line.
  std::string_view token() const { return token_at(here_); }
  void skip(std::string_view token) { here_ += token.size(); }
  /// The meaning of the next token, which must be one of the words in upper or lower case. The words are lower case.
  template <class Meaning, std::size_t n>
  Meaning read_word(const std::pair<std::string_view, Meaning> (&words)[n]);
  /// The next token as a number without sign, called `what` in messages.
  index_type read_whole_number(index_type smallest, index_type largest, const char* what);
  /// The next token as an integer with or without sign.
  std::int64_t read_integer();
  /// The next token as the nearest T, which must be finite. Its exponent may have Fortran's letter d.
  template <class T>
  T read_real();

 private:
  bool is_line_end(const char* p) const {
    return p == end_ || *p == '\n' || (*p == '\r' && (p + 1 == end_ || p[1] == '\n'));
  }
  bool is_token_end(const char* p) const { return p == end_ || *p == ' ' || *p == '\t' || is_line_end(p); }
  std::string_view token_at(const char* p) const {
    const char* last = p;
    while (!is_token_end(last)) ++last;
    return {p, static_cast<std::size_t>(last - p)};
  }
  void skip_line() {
    const void* newline = here_ == end_ ? nullptr : std::memchr(here_, '\n', bytes_left());
    here_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
  }
  /// Where std::from_chars, which accepts no plus sign, must start to read the token that starts here.
  const char* after_plus() const {
    return here_ != end_ && *here_ == '+' && here_ + 1 != end_ && here_[1] != '-' ? here_ + 1 : here_;
  }
  /// The same for what std::from_chars refuses: a d for the exponent, numbers too small for T, mistakes.
  template <class T>
  T read_unusual_real();

  std::string_view name_, text_;
  const char* here_;
  const char* end_;
};

template <class Meaning, std::size_t n>
Meaning scanner::read_word(const std::pair<std::string_view, Meaning> (&words)[n]) {
  skip_blanks();
  std::string expected;
  for (const auto& [word, meaning] : words) {
    if (std::ranges::equal(token(), word, {}, lower_case)) {
      skip(word);
      return meaning;
    }
    expected.append(expected.empty() ? "" : " or ").append(word);
  }
  fail_at_token(here_, expected);
}

inline index_type scanner::read_whole_number(index_type smallest, index_type largest, const char* what) {
  // A number with more digits exceeds every limit; its wrapped value is not used.
  constexpr std::ptrdiff_t most_digits = 18;
  skip_blanks();
  const char* p = here_;
  std::uint64_t value = 0;
  for (; p != end_ && *p >= '0' && *p <= '9'; ++p) value = value * 10 + static_cast<std::uint64_t>(*p - '0');
  const std::ptrdiff_t digits = p - here_;
  const auto number = static_cast<index_type>(value);
  if (digits == 0 || digits > most_digits || !is_token_end(p) || number < smallest || number > largest) {
    fail_at_token(here_, std::string(what) + " from " + std::to_string(smallest) + " to " + std::to_string(largest));
  }
  here_ = p;
  return number;
}

inline std::int64_t scanner::read_integer() {
  skip_blanks();
  std::int64_t value = 0;
  const auto [last, problem] = std::from_chars(after_plus(), end_, value);
  if (problem != std::errc{} || !is_token_end(last)) fail_at_token(here_, "an integer of at most 64 bits");
  here_ = last;
  return value;
}

template <class T>
T scanner::read_real() {
  skip_blanks();
  T value = 0;
  const auto [last, problem] = std::from_chars(after_plus(), end_, value);
  if (problem != std::errc{} || !is_token_end(last) || !std::isfinite(value)) return read_unusual_real<T>();
  here_ = last;
  return value;
}

}  // namespace whilst::detail::matrix_market
