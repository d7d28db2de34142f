#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

/// Where the text of a Matrix Market file comes from: bytes of a file, and gzip. `name` is the file's in messages.
namespace whilst::detail::matrix_market {

/// What the text of every file starts with.
inline constexpr std::string_view banner = "%%MatrixMarket";

/// Far above every file, and twice as much does not overflow.
inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max() / 4;

/// Whether a text starts with the banner, in upper or lower case.
bool starts_with_banner(std::string_view text);

/// The first bytes of a regular file or a pipe, at most `limit` of them; fewer still of a file that starts neither with
/// the banner nor as gzip does.
std::string read_bytes(const std::filesystem::path& path, std::size_t limit = no_limit);
/// The same of what is open already, which may be anything, as standard input. expected: bytes that there may be.
std::string read_bytes(std::FILE* file, std::string_view name, std::size_t limit = no_limit, std::size_t expected = 0);

/// Whether the first bytes are those of a gzip file.
inline bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

/// How much of a gzip file there is.
enum class extent { whole, beginning };

/// The text of a gzip file, all members of it, or its first bytes where they are not those of the banner. Of the
/// beginning of a file it gives what is there; a whole file must be intact.
std::string gunzip(std::string_view bytes, std::string_view name, extent given);

}  // namespace whilst::detail::matrix_market
