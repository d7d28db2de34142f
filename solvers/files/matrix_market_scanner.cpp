#include "solvers/files/matrix_market_scanner.hpp"

#include "solvers/files/text_file.hpp"

namespace whilst::detail::matrix_market {

void scanner::fail_at(const char* where, const std::string& found, const std::string& expected) const {
  fail(name_, text_, static_cast<std::size_t>(where - text_.data()), found, expected);
}

void scanner::fail_at_token(const char* where, const std::string& expected) const {
  const std::string_view token = token_at(where);
  if (!token.empty()) fail_at(where, quoted(token), expected);
  fail_at(where, where == end_ ? "the end of the file" : "the end of the line", expected);
}

namespace {

/// Whether a decimal number is below one in magnitude, however long its digits or its exponent. std::from_chars reports
/// overflow and underflow with the same code; this tells them apart.
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
    // Compared, not added: the sum may overflow.
    return negative ? scale <= power : power <= -scale;
  }
  return scale <= 0;
}

}  // namespace

template <class T>
T scanner::read_unusual_real() {
  const std::string_view all = token();
  std::string number(after_plus(), all.data() + all.size());
  const std::size_t mark = number.find_first_of("dD");
  if (mark != std::string::npos) number[mark] = 'e';
  const char* const end = number.data() + number.size();
  T value = 0;
  const auto [last, problem] = std::from_chars(number.data(), end, value);
  if (last == end && problem == std::errc::result_out_of_range && is_below_one(number)) {
    value = number[0] == '-' ? -T{0} : T{0};
  } else if (last != end || problem != std::errc{} || !std::isfinite(value)) {
    fail_at_token(here_, sizeof(T) == sizeof(double) ? "a finite number within the range of double"
                                                     : "a finite number within the range of float");
  }
  skip(all);
  return value;
}

template float scanner::read_unusual_real();
template double scanner::read_unusual_real();

}  // namespace whilst::detail::matrix_market
