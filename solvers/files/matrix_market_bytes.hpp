#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

/// Gets the text of a Matrix Market file: bytes of a file, and gzip. `name` stands for the file in messages.
namespace whilst::detail::matrix_market {

/// The text at the start of every file.
inline constexpr std::string_view banner = "%%MatrixMarket";

/// Larger than any file, and twice this does not overflow.
inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max() / 4;

/// Whether a text starts with the banner, in upper or lower case.
bool starts_with_banner(std::string_view text);

/// The first bytes of a regular file or a pipe, at most `limit` of them; fewer if the file starts neither with the
/// banner nor like gzip.
std::string read_bytes(const std::filesystem::path& path, std::size_t limit = no_limit);
/// The same for an open descriptor of any kind, such as standard input. expected: the likely number of bytes.
std::string read_bytes(std::FILE* file, std::string_view name, std::size_t limit = no_limit, std::size_t expected = 0);

/// Whether the first bytes are those of a gzip file.
inline bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

/// How much of a gzip file is present.
enum class extent { whole, beginning };

/// The text of a gzip file, over all its members, or only its first bytes if they are not the banner. From the
/// beginning of a file it returns what is there; a whole file must be intact.
std::string gunzip(std::string_view bytes, std::string_view name, extent given);

}  // namespace whilst::detail::matrix_market
