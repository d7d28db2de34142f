#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "whilst/basics/error.hpp"

/// What the readers of text files share: pieces of text, numbers, and messages that tell the place.
namespace whilst::detail {

/// What a text file may have at most, so that one that never ends, as /dev/zero, is refused and does not fill memory.
inline constexpr std::size_t longest_line = std::size_t{1} << 20, largest_text = std::size_t{1} << 30;

/// The bytes of a file; nothing where it does not open. Throws whilst::error "FILE:LINE:COLUMN: found ..., expected
/// ..." where a line is longer than longest_line or the file larger than largest_text.
std::optional<std::string> read_whole_file(const std::string& path);

/// What separates words within a line. The carriage return is one, so that both kinds of line end will do.
inline constexpr std::string_view blanks = " \t\r\v\f";

/// A view into the text, without the blanks around it.
std::string_view trim(std::string_view text);

/// The whole of the text as a finite number within the range of double, as "-2.5e-3" or "+1"; nothing where it is none.
std::optional<double> finite_number(std::string_view text);

/// Text as a terminal may get it, a file's name say: control characters and bytes that are not UTF-8 as \\x1b, all else
/// as it is.
std::string printable(std::string_view text);

/// Throws "NAME:LINE:COLUMN: found FOUND, expected EXPECTED" for the byte `where` of `text`.
[[noreturn]] void fail(std::string_view name, std::string_view text, std::size_t where, const std::string& found,
                       const std::string& expected);

/// The same for the place where `piece`, a view into `text`, starts.
[[noreturn]] void fail(std::string_view name, std::string_view text, std::string_view piece, const std::string& found,
                       const std::string& expected);

/// Throws "reading NAME: PROBLEM. Give EXPECTED" for a problem of the whole file, which has no place.
[[noreturn]] void fail(std::string_view name, const std::string& problem, const std::string& expected);

/// Text from a file as a message can show it: in quotes, at most 40 bytes, nothing that would upset a terminal.
std::string quoted(std::string_view token);

}  // namespace whilst::detail
