#include "solvers/linear/preconditioners/preconditioner_table.hpp"

namespace whilst {

const std::vector<const preconditioner_description*>& preconditioner_table() {
  static const std::vector<const preconditioner_description*> all{
      &amg_description(),     &multigrid_description(), &ilu_description(),          &ic_description(),
      &fsai_description(),    &spai_description(),      &block_jacobi_description(), &ssor_description(),
      &schwarz_description(), &chebyshev_description(), &neumann_description()};
  return all;
}

const preconditioner_description* described_preconditioner(std::string_view name) {
  for (const preconditioner_description* const one : preconditioner_table())
    if (name == one->name) return one;
  return nullptr;
}

}  // namespace whilst
