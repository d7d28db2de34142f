#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "whilst/linear/csr_matrix.hpp"

/// @file
/// Matrix Market files, the text format of the NIST and SuiteSparse collections, described in "The Matrix Market
/// Exchange Formats: Initial Design" by R. F. Boisvert, R. Pozo and K. A. Remington, NISTIR 5935 (1996).
///
/// What the readers accept:
/// - coordinate (sparse) and array (dense, column by column) files; real (or double), integer and pattern fields, with
///   ones for the entries of a pattern; general, symmetric and skew-symmetric. The first line in upper or lower case;
/// - numbers as C and as Fortran write them, 4e0 or 4.0D0;
/// - comments (lines that start with %) and blank lines anywhere after the first line; lines ending in LF or CR LF;
/// - gzip, recognised by its first two bytes and never by the file's name. To keep a few bytes from filling memory, the
///   text may be at most 64 MiB, or 100 times the compressed bytes if that is more.
///
/// What they make of it:
/// - entries given twice are summed, in file order; explicit zeros are kept;
/// - both triangles of a symmetric or skew-symmetric matrix are stored. Such a file should list the lower triangle
/// only;
///   an entry above the diagonal stands for its mirror image below it, and listing both is an error. So is a nonzero
///   diagonal entry of a skew-symmetric matrix;
/// - numbers are rounded to T; one too small for T becomes zero or subnormal, one too large is an error.
///
/// Anything else is bad input: complex and hermitian files, NaN and infinity, indices out of range, fewer or more
/// entries than the file declares, extra text on a line, broken gzip. It throws whilst::error with the message
/// "FILE:LINE:COLUMN: found this, expected that"; lines and columns count from 1, columns in bytes; for a gzip file
/// they refer to the text. A missing file, or one that is neither a regular file nor a pipe, is an error without a
/// position: "reading FILE: no such file. Give a Matrix Market file". Control characters in a file name are shown as
/// numbers (\\x1b). Memory is allocated for entries that are present, never for entries only declared; a file that
/// declares more than 2^20 rows of a matrix, or 2^24 of a vector, needs at least as many bytes of text.
namespace whilst {

enum class matrix_market_format { coordinate, array };
enum class matrix_market_field { real, integer, pattern };
enum class matrix_market_symmetry { general, symmetric, skew_symmetric };

/// What a Matrix Market file declares before the first entry.
struct matrix_market_header {
  matrix_market_format format = matrix_market_format::coordinate;
  matrix_market_field field = matrix_market_field::real;
  matrix_market_symmetry symmetry = matrix_market_symmetry::general;
  index_type rows = 0;
  index_type columns = 0;
  /// Entries listed in the file: only one triangle if it is symmetric.
  index_type entries = 0;
};

/// Reads only as much of a regular file as its header needs; does not look at the entries.
matrix_market_header read_matrix_market_header(const std::filesystem::path& path);
/// The same from memory. `name` stands for the file in messages.
matrix_market_header parse_matrix_market_header(std::string_view text, std::string_view name);

/// Reads a matrix, with the columns of each row in ascending order. Row offsets have 32 bits below 2^31 nonzeros, from
/// there on 64; there are at most 2^31 - 1 rows and columns. An array file yields a matrix that stores all its entries.
template <class T>
csr_matrix<T> read_matrix(const std::filesystem::path& path);
/// The same from memory, plain or gzip. `name` stands for the file in messages.
template <class T>
csr_matrix<T> parse_matrix(std::string_view text, std::string_view name);

/// Reads a vector of n entries, such as a right-hand side: an n x 1 file, array or coordinate; entries missing from a
/// coordinate file are zero.
template <class T>
std::vector<T> read_vector(const std::filesystem::path& path);
/// The same from memory, plain or gzip. `name` stands for the file in messages.
template <class T>
std::vector<T> parse_vector(std::string_view text, std::string_view name);

/// Writes a host matrix as "coordinate real general", row by row, each number with the fewest digits that read back to
/// the same bits. The file is written beside `path` under another name and then renamed, so `path` is never
/// half-written; an existing file is replaced and keeps its mode, and a link keeps its target. Devices, pipes and open
/// descriptors of this process (/dev/stdout, /dev/fd/3) are written directly. Throws whilst::error, and leaves `path`
/// as it was, on a matrix on a device, a value that is NaN or infinite, and a file that cannot be written.
template <class T>
void write_matrix(const std::filesystem::path& path, const csr_matrix<T>& matrix);

/// Writes a vector of n entries as an n x 1 "array real general" file, the same way as write_matrix.
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
