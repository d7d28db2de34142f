#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "whilst/error.hpp"

/// What the messages of the Matrix Market reader are made of.
namespace whilst::detail::matrix_market {

/// Throws "NAME:LINE:COLUMN: found FOUND, expected EXPECTED" for the byte `where` of `text`.
[[noreturn]] void fail(std::string_view name, std::string_view text, std::size_t where, const std::string& found,
                       const std::string& expected);

/// The same for a problem of the whole file, reported at 1:1.
[[noreturn]] void fail(std::string_view name, const std::string& found, const std::string& expected);

/// Text from a file as a message can show it: in quotes, at most 40 bytes, nothing that would upset a terminal.
std::string quoted(std::string_view token);

}  // namespace whilst::detail::matrix_market
