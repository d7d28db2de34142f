#pragma once

#include <string>
#include <vector>

#include "benchmarks/whilst-bench/linear.hpp"
#include "whilst/linear/csr_matrix.hpp"

namespace whilst_bench {

/// Where one system comes from, and who solves it.
struct linear_case {
  std::string name;
  /// One of them: a Matrix Market file, a model problem.
  std::string file, gallery;
  std::string rhs;  ///< a file; empty: the model problem's own, or A times ones
  std::vector<std::string> methods, preconditioners;
  bool is_rectangular = false;
};

struct left_out_file {
  std::string name, why;
  /// False for what is no system in the first place: a vector, or a rectangular matrix where no method takes one.
  bool is_system = true;
};

struct linear_cases {
  std::vector<linear_case> all;
  std::vector<left_out_file> left_out;
};

/// All cases of the options, with methods and preconditioners in the library's order. Reads the headers of files only.
/// Throws whilst::error on unknown names, a folder without matrices, and a list that is not one of cases.
linear_cases find_linear_cases(const linear_options& options);

template <class T>
struct linear_system {
  whilst::csr_matrix<T> A;
  std::vector<T> b;
  std::string right_side;  ///< "file", "gallery" or "ones-solution"
  /// Of the gallery's elasticity problems; see amg_options.
  int unknowns_a_node = 1;
  std::vector<double> coordinates = {};
};

/// Throws whilst::error on a file that is no system.
template <class T>
linear_system<T> load_linear_case(const linear_case& from);

}  // namespace whilst_bench
