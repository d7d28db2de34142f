#include "solvers/matrix_market_error.hpp"

#include <algorithm>

namespace whilst::detail::matrix_market {

void fail(std::string_view name, std::string_view text, std::size_t where, const std::string& found,
          const std::string& expected) {
  // Lines are counted here, once something went wrong, so that reading keeps no count.
  const std::string_view before = text.substr(0, where);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? where + 1 : where - newline;
  throw error(std::string(name) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": found " + found +
              ", expected " + expected);
}

void fail(std::string_view name, const std::string& found, const std::string& expected) {
  fail(name, {}, 0, found, expected);
}

std::string quoted(std::string_view token) {
  constexpr std::size_t longest = 40;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown = "\"";
  for (const char c : token.substr(0, longest)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      shown.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  return shown + (token.size() > longest ? "...\"" : "\"");
}

}  // namespace whilst::detail::matrix_market
