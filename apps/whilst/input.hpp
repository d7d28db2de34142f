#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "command.hpp"
#include "whilst/gallery.hpp"

namespace whilst::command {

/// A x = b as the command line names it, in host memory.
template <class T>
struct linear_system {
  csr_matrix<T> A;
  /// Right-hand sides, one after another.
  std::vector<T> b;
  /// The matrix in words: the file as given, or the gallery's name and description.
  std::string name, description;
  /// The source of the right-hand side.
  std::string rhs_source;
  std::optional<gallery_quantity<T>> quantity;
  index_type columns = 1;  ///< of b
  /// Orthonormal vectors that span the null space, one after another; empty if the options name none.
  std::vector<double> null_space = {};
  /// Of the gallery's elasticity problems; see amg_options.
  int unknowns_a_node = 1;
  std::vector<double> coordinates = {};

  /// Of one right-hand side.
  std::span<const T> column(index_type k) const {
    return std::span(b).subspan(static_cast<std::size_t>(k * A.rows()), static_cast<std::size_t>(A.rows()));
  }
};

/// In long double, which holds the squares of all doubles. Not by the library's own norm, which this checks.
template <class T>
double norm_of(const std::vector<T>& entries) {
  long double squares = 0;
  for (const long double entry : entries) squares += entry * entry;
  return static_cast<double>(std::sqrt(squares));
}

/// These options, with nodes and their coordinates where the gallery knows them and preconditioner amg says no other,
/// or auto may choose that. Not with a permutation, which knows nothing of nodes.
template <class T>
linear_solver_options with_nodes(const linear_system<T>& system, linear_solver_options options) {
  const std::string& M = options.preconditioner;
  if ((!M.starts_with("amg") && M != "auto") || M.find("unknowns_a_node") != std::string::npos) return options;
  if (options.permutation != "none") return options;
  options.amg.unknowns_a_node = system.unknowns_a_node;
  options.amg.coordinates = system.coordinates;
  return options;
}

/// Reads or makes the matrix and its right-hand sides, the columns of a file. Throws whilst::error on files that cannot
/// be read and right-hand sides of another length.
template <class T>
linear_system<T> load_system(const solve_options& options);

/// These options with the vectors of the null space and those to deflate, from their files where these are named.
/// Throws whilst::error if one cannot be read.
solve_options with_vectors(solve_options options);

/// ||b - A x||_2 / ||b||_2 computed here, in double, independent of the solver; of column k. 0 if both norms are 0.
/// With a null space, of what both have outside it.
template <class T>
double true_relative_residual(const linear_system<T>& system, std::span<const T> x, index_type k = 0);

/// Of r = b - A x: ||A'r|| / ||r|| over ||A'b|| / ||b||, computed here, in long double. 0 if A'r is 0.
template <class T>
double true_normal_ratio(const linear_system<T>& system, std::span<const T> x);

extern template linear_system<float> load_system<float>(const solve_options&);
extern template linear_system<double> load_system<double>(const solve_options&);
extern template double true_normal_ratio<float>(const linear_system<float>&, std::span<const float>);
extern template double true_normal_ratio<double>(const linear_system<double>&, std::span<const double>);
extern template double true_relative_residual<float>(const linear_system<float>&, std::span<const float>, index_type);
extern template double true_relative_residual<double>(const linear_system<double>&, std::span<const double>,
                                                      index_type);

}  // namespace whilst::command
