#pragma once

#include <string>
#include <vector>

#include "whilst/linear/csr_matrix.hpp"

namespace whilst::command {

/// Whether this program can divide rows by METIS.
bool is_built_with_metis();
/// What --partition can be: "rows", consecutive ones, then the names of partitioners.
std::vector<std::string> partition_names();
/// Throws whilst::error that begins with --partition, unless it is one of them; also for metis if the program was built
/// without.
void check_partition(const std::string& name);

/// The rank of each row by the partitioner of that name. Throws whilst::error.
template <class T>
std::vector<int> parts_by(const std::string& partitioner, const csr_matrix<T>& A, int ranks);

}  // namespace whilst::command
