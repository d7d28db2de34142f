#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "whilst/linear/csr_matrix.hpp"

/// @file
/// Matrix Market files, the text format of the NIST and SuiteSparse collections, described in R. F. Boisvert, R. Pozo
/// and K. A. Remington, "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935 (1996).
///
/// What the readers take:
/// - coordinate (sparse) and array (dense, column by column) files; real (or double), integer and pattern fields, the
///   entries of a pattern being ones; general, symmetric and skew-symmetric. The first line in upper or lower case;
/// - numbers as C and as Fortran write them, 4e0 or 4.0D0;
/// - comments (lines whose first mark is %) and blank lines anywhere after the first line; lines that end in LF or CR
/// LF;
/// - gzip, recognised by its first two bytes and never by the file's name. So that a few bytes cannot fill the memory,
///   the text may be at most 64 MiB, or 100 times the compressed bytes where that is more.
///
/// What they make of it:
/// - entries given twice are summed, in the order of the file; explicit zeros are kept;
/// - of a symmetric or skew-symmetric matrix both triangles are stored. Such a file should list the lower triangle
/// only;
///   an entry above the diagonal stands for its mirror image below it, and it is an error to list both. So is an entry
///   on the diagonal of a skew-symmetric matrix that is not zero;
/// - numbers are rounded to T; one too small for T becomes zero or subnormal, one too large is an error.
///
/// Anything else is bad input: complex and hermitian files, NaN and infinity, indices out of range, fewer or more
/// entries than the file declares, anything more on a line, broken gzip. It throws whilst::error with the message
/// "FILE:LINE:COLUMN: found this, expected that"; lines and columns count from 1, columns in bytes, and of a gzip file
/// they are those of the text. A file that is not there, or neither a regular file nor a pipe, is an error without a
/// place: "reading FILE: no such file. Give a Matrix Market file". Control characters in a file's name are shown as
/// numbers (\\x1b). Memory is taken for the entries that are there, never for those that are only declared; a file that
/// declares more than 2^20 rows of a matrix, or 2^24 of a vector, needs at least as many bytes of text.
namespace whilst {

enum class matrix_market_format { coordinate, array };
enum class matrix_market_field { real, integer, pattern };
enum class matrix_market_symmetry { general, symmetric, skew_symmetric };

/// What a Matrix Market file says of itself before the first entry.
struct matrix_market_header {
  matrix_market_format format = matrix_market_format::coordinate;
  matrix_market_field field = matrix_market_field::real;
  matrix_market_symmetry symmetry = matrix_market_symmetry::general;
  index_type rows = 0;
  index_type columns = 0;
  /// Entries listed in the file: one triangle only where it is symmetric.
  index_type entries = 0;
};

/// Reads as much of a regular file as holds its header; the entries are not looked at.
matrix_market_header read_matrix_market_header(const std::filesystem::path& path);
/// The same from memory. `name` stands for the file in messages.
matrix_market_header parse_matrix_market_header(std::string_view text, std::string_view name);

/// Reads a matrix, with the columns of each row in rising order. Row offsets have 32 bits below 2^31 nonzeros, 64 from
/// there on. Rows and columns: at most 2^31 - 1. An array file gives a matrix that stores all its entries.
template <class T>
csr_matrix<T> read_matrix(const std::filesystem::path& path);
/// The same from memory, plain or gzip. `name` stands for the file in messages.
template <class T>
csr_matrix<T> parse_matrix(std::string_view text, std::string_view name);

/// Reads a vector of n entries, as a right-hand side: an n x 1 file, array or coordinate; what a coordinate file does
/// not list is zero.
template <class T>
std::vector<T> read_vector(const std::filesystem::path& path);
/// The same from memory, plain or gzip. `name` stands for the file in messages.
template <class T>
std::vector<T> parse_vector(std::string_view text, std::string_view name);

/// Writes a host matrix as "coordinate real general", row by row, each number with the fewest digits that read back to
/// the same bits. The file is written beside `path` under another name and then renamed, so `path` is never
/// half-written; an existing file is replaced and keeps its mode, and a link keeps pointing where it did. A device, a
/// pipe and what this process has open (/dev/stdout, /dev/fd/3) are written to as they are. Throws whilst::error, and
/// leaves `path` as it was, on a matrix on a device, a value that is NaN or infinite, and a file that cannot be
/// written.
template <class T>
void write_matrix(const std::filesystem::path& path, const csr_matrix<T>& matrix);

/// Writes a vector of n entries as an n x 1 "array real general", in the way of write_matrix.
template <class T>
void write_vector(const std::filesystem::path& path, std::span<const T> vector);
template <class T>
void write_vector(const std::filesystem::path& path, const std::vector<T>& vector) {
  write_vector(path, std::span<const T>(vector));
}

extern template csr_matrix<float> read_matrix(const std::filesystem::path&);
extern template csr_matrix<double> read_matrix(const std::filesystem::path&);
extern template csr_matrix<float> parse_matrix(std::string_view, std::string_view);
extern template csr_matrix<double> parse_matrix(std::string_view, std::string_view);
extern template std::vector<float> read_vector(const std::filesystem::path&);
extern template std::vector<double> read_vector(const std::filesystem::path&);
extern template std::vector<float> parse_vector(std::string_view, std::string_view);
extern template std::vector<double> parse_vector(std::string_view, std::string_view);
extern template void write_matrix(const std::filesystem::path&, const csr_matrix<float>&);
extern template void write_matrix(const std::filesystem::path&, const csr_matrix<double>&);
extern template void write_vector(const std::filesystem::path&, std::span<const float>);
extern template void write_vector(const std::filesystem::path&, std::span<const double>);

}  // namespace whilst
