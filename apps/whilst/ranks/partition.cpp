#include "apps/whilst/ranks/partition.hpp"

#include <algorithm>
#include <stdexcept>

#include "whilst/basics/error.hpp"
#include "whilst/linear/distributed/row_parts.hpp"
#if WHILST_WITH_METIS
#include "whilst/linear/distributed/parts_by_metis.hpp"
#endif

namespace whilst::command {

bool is_built_with_metis() {
#if WHILST_WITH_METIS
  return true;
#else
  return false;
#endif
}

std::vector<std::string> partition_names() { return {"rows", "rcm", "metis"}; }

void check_partition(const std::string& name) {
  const std::vector<std::string> names = partition_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw error("--partition " + name, "there is no such partition", "Give rows, rcm or metis");
  if (name == "metis" && !is_built_with_metis())
    throw error("--partition metis", "this program was built without METIS",
                "Install METIS (Debian and Ubuntu: libmetis-dev) and build again, or use rcm");
}

template <class T>
std::vector<int> parts_by(const std::string& partitioner, const csr_matrix<T>& A, int ranks) {
#if WHILST_WITH_METIS
  if (partitioner == "metis") return parts_by_metis(A, ranks);
#endif
  check_partition(partitioner);
  if (partitioner != "rcm") throw std::logic_error("partition " + partitioner + " needs no parts");
  return parts_by_rcm(A, ranks);
}

template std::vector<int> parts_by(const std::string&, const csr_matrix<float>&, int);
template std::vector<int> parts_by(const std::string&, const csr_matrix<double>&, int);

}  // namespace whilst::command
