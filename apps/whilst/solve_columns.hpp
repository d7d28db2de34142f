#pragma once

#include "input.hpp"
#include "results.hpp"

namespace whilst::command {

/// whilst solve for several right-hand sides. Returns an exit_status. Throws whilst::error where the options ask for
/// what there is of one solve only.
template <class T>
int solve_columns(const linear_system<T>& system, const solve_options& options, const result_files& files);

/// Columns one after another, as a matrix that stores all its entries.
template <class T>
csr_matrix<T> as_matrix(index_type rows, index_type columns, const std::vector<T>& X);

extern template csr_matrix<float> as_matrix(index_type, index_type, const std::vector<float>&);
extern template csr_matrix<double> as_matrix(index_type, index_type, const std::vector<double>&);
extern template int solve_columns(const linear_system<float>&, const solve_options&, const result_files&);
extern template int solve_columns(const linear_system<double>&, const solve_options&, const result_files&);

}  // namespace whilst::command
