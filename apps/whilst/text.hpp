#pragma once

#include <cstdio>
#include <string>

#include "input.hpp"
#include "whilst/machine.hpp"

namespace whilst::command {

/// A duration with three digits and the unit that suits it: "12.3 us".
std::string duration(double seconds);
/// An amount of memory: "20.1 MiB".
std::string memory(double bytes);
/// 13000 as "13.0".
std::string cuda_version(int version);
/// The driver's own version and the newest CUDA that it supports, as far as known: "580.95.05, for CUDA up to 13.0".
std::string driver_line(const machine_description& machine);
/// CPU or GPU in one line.
std::string machine_line(const machine_description& machine, const std::string& executor);

/// The lines about matrix, right-hand side, machine and solver that open the output of solve and compare.
template <class T>
void print_header(std::FILE* out, const linear_system<T>& system, const solve_options& options,
                  const machine_description& machine, const std::string& executor);

extern template void print_header<float>(std::FILE*, const linear_system<float>&, const solve_options&,
                                         const machine_description&, const std::string&);
extern template void print_header<double>(std::FILE*, const linear_system<double>&, const solve_options&,
                                          const machine_description&, const std::string&);

}  // namespace whilst::command
