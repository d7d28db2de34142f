#pragma once

#include <vector>

#include "solvers/files/matrix_market_reader.hpp"

namespace whilst::detail::matrix_market {

/// The matrix that the entries of `file` describe: sorted into rows, mirrored if the file lists one triangle, and
/// summed if a position occurs twice. T is float or double.
template <class T>
csr_matrix<T> assemble_rows(const reader& file, std::vector<matrix_market_entry<T>> entries);

}  // namespace whilst::detail::matrix_market
