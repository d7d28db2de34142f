#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "whilst/basics/error.hpp"

/// Shared by the readers of text files: pieces of text, numbers, and messages with positions.
namespace whilst::detail {

/// Limits for a text file, so that an endless one, such as /dev/zero, is refused before it fills memory.
inline constexpr std::size_t longest_line = std::size_t{1} << 20, largest_text = std::size_t{1} << 30;

/// The bytes of a file; nothing if it does not open. Throws whilst::error "FILE:LINE:COLUMN: found ..., expected ..."
/// if a line is longer than longest_line or the file larger than largest_text.
std::optional<std::string> read_whole_file(const std::string& path);

/// The separators of words within a line, including the carriage return, so that both kinds of line ending work.
inline constexpr std::string_view blanks = " \t\r\v\f";

/// A view into the text, without the blanks around it.
std::string_view trim(std::string_view text);

/// The whole text as a finite number within the range of double, such as "-2.5e-3" or "+1"; nothing if it is not one.
std::optional<double> finite_number(std::string_view text);

/// Text that is safe for a terminal, such as a file name: control characters and bytes that are not UTF-8 as \\x1b, all
/// else unchanged.
std::string printable(std::string_view text);

/// Throws "NAME:LINE:COLUMN: found FOUND, expected EXPECTED" for the byte `where` of `text`.
[[noreturn]] void fail(std::string_view name, std::string_view text, std::size_t where, const std::string& found,
                       const std::string& expected);

/// The same for the position where `piece`, a view into `text`, starts.
[[noreturn]] void fail(std::string_view name, std::string_view text, std::string_view piece, const std::string& found,
                       const std::string& expected);

/// Throws "reading NAME: PROBLEM. Give EXPECTED" for a problem of the whole file, which has no position.
[[noreturn]] void fail(std::string_view name, const std::string& problem, const std::string& expected);

/// Text from a file for use in a message: in quotes, at most 40 bytes, safe for a terminal.
std::string quoted(std::string_view token);

}  // namespace whilst::detail
