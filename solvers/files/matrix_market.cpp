#include "whilst/files/matrix_market.hpp"

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "solvers/files/matrix_market_bytes.hpp"
#include "solvers/files/matrix_market_reader.hpp"
#include "solvers/files/matrix_market_rows.hpp"
#include "solvers/files/text_file.hpp"

// The public readers, which combine bytes (matrix_market_bytes), tokens (matrix_market_scanner), the format
// (matrix_market_reader) and rows (matrix_market_rows). The writers are in matrix_market_writer.cpp.

namespace whilst {

namespace {

using namespace detail::matrix_market;

/// Running out of memory over a file is a property of the file, reported like the others.
template <class Read>
auto with_memory_named(std::string_view name, Read read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  detail::fail(name, "there is not enough memory", "a file that fits into memory");
}

/// Calls `parse` with a reader for the text in `bytes`, plain or gzip.
template <class Parse>
auto parse_bytes(std::string_view bytes, std::string_view name, Parse parse) {
  return with_memory_named(name, [&] {
    if (!is_gzip(bytes)) return parse(reader(bytes, name));
    const std::string text = gunzip(bytes, name, extent::whole);
    return parse(reader(text, name));
  });
}

/// Whether the beginning of a file extends past the size line.
bool holds_header(std::string_view text) {
  bool first_line = true;
  for (std::size_t newline; (newline = text.find('\n')) != std::string_view::npos; text.remove_prefix(newline + 1)) {
    const std::size_t mark = text.find_first_not_of(" \t\r");
    if (!first_line && mark < newline && text[mark] != '%') return true;
    first_line = false;
  }
  return false;
}

}  // namespace

matrix_market_header read_matrix_market_header(const std::filesystem::path& path) {
  const std::string name = path.string();
  return with_memory_named(name, [&] {
    for (std::size_t limit = std::size_t{1} << 16;; limit *= 16) {
      std::string text = read_bytes(path, limit);
      const bool whole = text.size() < limit;
      if (is_gzip(text)) text = gunzip(text, name, whole ? extent::whole : extent::beginning);
      if (whole || holds_header(text)) return reader(text, name).header();
    }
  });
}

matrix_market_header parse_matrix_market_header(std::string_view text, std::string_view name) {
  return parse_bytes(text, name, [](const reader& file) { return file.header(); });
}

template <class T>
csr_matrix<T> parse_matrix(std::string_view text, std::string_view name) {
  return parse_bytes(text, name, [](reader file) {
    std::vector<matrix_market_entry<T>> entries = file.read_entries<T>();
    file.expect_end();
    // A row without entries makes a matrix singular; solving with it anyway takes some hundred bytes per row.
    file.check_rows(index_type{1} << 20);
    return assemble_rows(file, std::move(entries));
  });
}

template <class T>
std::vector<T> parse_vector(std::string_view text, std::string_view name) {
  return parse_bytes(text, name, [](reader file) {
    std::vector<T> column = file.read_column<T>();
    file.expect_end();
    return column;
  });
}

template <class T>
csr_matrix<T> read_matrix(const std::filesystem::path& path) {
  const std::string name = path.string();
  return with_memory_named(name, [&] { return parse_matrix<T>(read_bytes(path), name); });
}

template <class T>
std::vector<T> read_vector(const std::filesystem::path& path) {
  const std::string name = path.string();
  return with_memory_named(name, [&] { return parse_vector<T>(read_bytes(path), name); });
}

template csr_matrix<float> read_matrix(const std::filesystem::path&);
template csr_matrix<double> read_matrix(const std::filesystem::path&);
template csr_matrix<float> parse_matrix(std::string_view, std::string_view);
template csr_matrix<double> parse_matrix(std::string_view, std::string_view);
template std::vector<float> read_vector(const std::filesystem::path&);
template std::vector<double> read_vector(const std::filesystem::path&);
template std::vector<float> parse_vector(std::string_view, std::string_view);
template std::vector<double> parse_vector(std::string_view, std::string_view);

}  // namespace whilst
