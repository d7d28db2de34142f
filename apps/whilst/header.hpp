#pragma once

#include <cstdio>
#include <string>

#include "input.hpp"
#include "whilst/machine.hpp"

namespace whilst::command {

/// The lines about the matrix.
template <class T>
void print_matrix(std::FILE* out, const linear_system<T>& system);

/// The lines about matrix, right-hand side, machine and solver at the top of the output of solve and compare.
template <class T>
void print_header(std::FILE* out, const linear_system<T>& system, const solve_options& options,
                  const machine_description& machine, const std::string& executor);

extern template void print_matrix<float>(std::FILE*, const linear_system<float>&);
extern template void print_matrix<double>(std::FILE*, const linear_system<double>&);
extern template void print_header<float>(std::FILE*, const linear_system<float>&, const solve_options&,
                                         const machine_description&, const std::string&);
extern template void print_header<double>(std::FILE*, const linear_system<double>&, const solve_options&,
                                          const machine_description&, const std::string&);

}  // namespace whilst::command
