#include "solvers/files/text_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <system_error>

namespace whilst::detail {

namespace {

void append_as_number(std::string& shown, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  shown.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
}

/// The length in bytes of the text's first character; 0 for a control character and invalid UTF-8.
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= ' ' && byte(0) != 0x7f ? 1 : 0;
  const std::size_t length = byte(0) < 0xc2 ? 0 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : byte(0) < 0xf5 ? 4 : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool control = byte(0) == 0xc2 && byte(1) < 0xa0;  // U+0080 to U+009F
  return control ? 0 : length;
}

}  // namespace

std::optional<std::string> read_whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  std::string text;
  std::size_t line = 0;  // the start of the last line begun
  for (std::string piece(longest_line, '\0'); file;) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const std::string_view read(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (const std::size_t newline = read.rfind('\n'); newline != std::string_view::npos)
      line = text.size() + newline + 1;
    text += read;
    if (text.size() > line + longest_line) fail(path, text, line, "a line of more than 1 MiB", "lines of text");
    if (text.size() > largest_text) fail(path, text, text.size() - 1, "more than 1 GiB", "the end of the file");
  }
  return text;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return text.substr(0, 0);
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<double> finite_number(std::string_view text) {
  // std::from_chars accepts no plus sign.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || last != end || !std::isfinite(value)) return {};
  return value;
}

void fail(std::string_view name, std::string_view text, std::size_t where, const std::string& found,
          const std::string& expected) {
  // Counts lines only here, after an error, so that reading keeps no count.
  const std::string_view before = text.substr(0, where);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? where + 1 : where - newline;
  throw error(printable(name) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": found " + found +
              ", expected " + expected);
}

void fail(std::string_view name, std::string_view text, std::string_view piece, const std::string& found,
          const std::string& expected) {
  fail(name, text, static_cast<std::size_t>(piece.data() - text.data()), found, expected);
}

void fail(std::string_view name, const std::string& problem, const std::string& expected) {
  throw error("reading " + printable(name), problem, "Give " + expected);
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    length > 0 ? void(shown += text.substr(0, length)) : append_as_number(shown, text[0]);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return shown;
}

std::string quoted(std::string_view token) {
  constexpr std::size_t longest = 40;
  std::string shown = "\"";
  for (const char c : token.substr(0, longest)) c >= ' ' && c <= '~' ? void(shown += c) : append_as_number(shown, c);
  return shown + (token.size() > longest ? "...\"" : "\"");
}

}  // namespace whilst::detail
