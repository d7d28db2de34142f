#include "input.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <utility>

#include "solvers/files/matrix_market_bytes.hpp"
#include "solvers/files/text_file.hpp"
#include "solvers/linear/null_space/null_space.hpp"
#include "whilst/matrix_market.hpp"

namespace whilst::command {
namespace {

/// The file's name for messages.
std::string named(const std::string& path) { return path == "-" ? "standard input" : path; }

/// Parses the text on standard input if the path is "-", otherwise reads the file.
template <class Read, class Parse>
auto read_or_parse(const std::string& path, Read read, Parse parse) {
  if (path != "-") return read(path);
  const std::string name = named(path);
  return parse(detail::matrix_market::read_bytes(stdin, name), name);
}

template <class T>
linear_system<T> load_matrix(const solve_options& options) {
  if (!options.gallery.empty()) {
    gallery_problem<T> problem = make_gallery<T>(options.gallery);
    return {.A = std::move(problem.matrix),
            .b = std::move(problem.rhs),
            .name = problem.name,
            .description = problem.description,
            .rhs_source = "the gallery's own",
            .quantity = std::move(problem.quantity),
            .unknowns_a_node = problem.unknowns_a_node,
            .coordinates = std::move(problem.coordinates)};
  }
  csr_matrix<T> A = read_or_parse(
      options.matrix_file, [](const auto& path) { return read_matrix<T>(path); },
      [](const auto&... given) { return parse_matrix<T>(given...); });
  std::vector<T> ones(static_cast<size_t>(A.rows()), T(1));
  return {std::move(A), std::move(ones), named(options.matrix_file), "", "ones", {}};
}

constexpr index_type most_columns = 64;

/// A vector, or the columns of a file with several, one after another; and how many there are.
template <class T>
std::vector<T> read_columns(const char* option, const std::string& path, index_type& columns) {
  // What can be read only once is kept.
  std::error_code unknown;
  const auto type = std::filesystem::status(path, unknown).type();
  const bool is_input = path == "-";
  const bool is_piped =
      is_input || type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character;
  std::string piped;
  if (is_piped)
    piped = is_input ? detail::matrix_market::read_bytes(stdin, named(path)) : detail::matrix_market::read_bytes(path);
  const auto read = [&](auto of_file, auto of_text) { return is_piped ? of_text(piped, named(path)) : of_file(path); };
  const matrix_market_header header = read(read_matrix_market_header, parse_matrix_market_header);
  // A matrix given by mistake, say; dense it may not fit into memory.
  if (header.columns > most_columns)
    throw error(fmt::format("reading {} {}", option, detail::printable(path)),
                fmt::format("the number of columns is {}", header.columns), fmt::format("Give 1 to {}", most_columns));
  columns = 1;
  if (header.columns <= 1)
    return read([](const auto& file) { return read_vector<T>(file); },
                [](const auto&... text) { return parse_vector<T>(text...); });
  const csr_matrix<T> B = read([](const auto& file) { return read_matrix<T>(file); },
                               [](const auto&... text) { return parse_matrix<T>(text...); });
  columns = B.columns();
  std::vector<T> all(static_cast<size_t>(B.rows() * B.columns()), T(0));
  for (index_type row = 0; row < B.rows(); ++row)
    for (index_type k = B.row_offset(row); k < B.row_offset(row + 1); ++k) {
      const auto entry = static_cast<size_t>(k);
      all[static_cast<size_t>(B.column_indices()[entry] * B.rows() + row)] = B.values()[entry];
    }
  return all;
}

/// The norm of what a vector has outside the span of orthonormal ones.
double norm_outside(const std::vector<double>& null_space, std::vector<double> v) {
  for (size_t first = 0; first < null_space.size(); first += v.size()) {
    double part = 0;
    for (size_t i = 0; i < v.size(); ++i) part += null_space[first + i] * v[i];
    for (size_t i = 0; i < v.size(); ++i) v[i] -= part * null_space[first + i];
  }
  return norm_of(v);
}

}  // namespace

template <class T>
linear_system<T> load_system(const solve_options& options) {
  linear_system<T> system = load_matrix<T>(options);
  const index_type n = system.A.rows();
  if (n == 0)
    throw error("reading " + detail::printable(system.name), "the matrix has no rows",
                "Give a matrix with at least one");
  if (!options.rhs_file.empty()) {
    system.b = read_columns<T>("--rhs", options.rhs_file, system.columns);
    system.rhs_source = named(options.rhs_file);
    // The expected value belongs to the gallery's own load.
    system.quantity.reset();
    const index_type entries = static_cast<index_type>(system.b.size()) / system.columns;
    if (entries != n)
      throw error("reading --rhs " + detail::printable(options.rhs_file),
                  fmt::format("it has {} entries and the matrix {} rows", entries, n), "Give one entry for each row");
  }
  if (has_null_space(options.solver))
    system.null_space = orthonormal_null_space("reading " + detail::printable(system.name), options.solver, n);
  return system;
}

solve_options with_vectors(solve_options options) {
  index_type columns = 0;
  if (!options.deflation_file.empty())
    options.solver.deflation = read_columns<double>("--deflation", options.deflation_file, columns);
  if (options.null_space_file.empty()) return options;
  options.solver.null_space = "vectors";
  options.solver.null_space_vectors = read_columns<double>("--null-space-vectors", options.null_space_file, columns);
  return options;
}

template <class T>
double true_relative_residual(const linear_system<T>& system, std::span<const T> x, index_type column) {
  const std::span<const T> b = system.column(column);
  const auto columns = system.A.column_indices();
  const auto values = system.A.values();
  std::vector<double> of_residual(b.begin(), b.end());
  for (index_type row = 0; row < system.A.rows(); ++row) {
    double& residual = of_residual[static_cast<size_t>(row)];
    for (index_type k = system.A.row_offset(row); k < system.A.row_offset(row + 1); ++k) {
      const auto entry = static_cast<size_t>(k);
      residual -= static_cast<double>(values[entry]) * static_cast<double>(x[static_cast<size_t>(columns[entry])]);
    }
  }
  const double residual = norm_outside(system.null_space, std::move(of_residual));
  return residual == 0 ? 0 : residual / norm_outside(system.null_space, {b.begin(), b.end()});
}

template <class T>
double true_normal_ratio(const linear_system<T>& system, std::span<const T> x) {
  const auto columns = system.A.column_indices();
  const auto values = system.A.values();
  std::vector<long double> of_residual(x.size()), of_rhs(x.size());
  long double residual_squares = 0, rhs_squares = 0;
  for (index_type row = 0; row < system.A.rows(); ++row) {
    const long double rhs = system.b[static_cast<size_t>(row)];
    const auto begin = static_cast<size_t>(system.A.row_offset(row)),
               end = static_cast<size_t>(system.A.row_offset(row + 1));
    long double residual = rhs;
    for (size_t k = begin; k < end; ++k)
      residual -= static_cast<long double>(values[k]) * x[static_cast<size_t>(columns[k])];
    for (size_t k = begin; k < end; ++k) {
      of_residual[static_cast<size_t>(columns[k])] += values[k] * residual;
      of_rhs[static_cast<size_t>(columns[k])] += values[k] * rhs;
    }
    residual_squares += residual * residual;
    rhs_squares += rhs * rhs;
  }
  const auto norm = [](const std::vector<long double>& v) {
    return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0L));
  };
  const long double one = norm(of_residual), reference = norm(of_rhs);
  if (one == 0) return 0;
  return static_cast<double>((one / std::sqrt(residual_squares)) / (reference / std::sqrt(rhs_squares)));
}

template linear_system<float> load_system<float>(const solve_options&);
template linear_system<double> load_system<double>(const solve_options&);
template double true_normal_ratio<float>(const linear_system<float>&, std::span<const float>);
template double true_normal_ratio<double>(const linear_system<double>&, std::span<const double>);
template double true_relative_residual<float>(const linear_system<float>&, std::span<const float>, index_type);
template double true_relative_residual<double>(const linear_system<double>&, std::span<const double>, index_type);

}  // namespace whilst::command
