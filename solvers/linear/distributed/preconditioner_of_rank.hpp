#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "solvers/linear/preconditioners/preconditioner_choice.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/linear/matrix_on_place.hpp"

namespace whilst {

/// A preconditioner that a rank makes from its own diagonal block: from its rows and those of their columns that it
/// has. Over all ranks that is additive Schwarz without overlap, whatever each makes of its block. It exchanges
/// nothing, and gives no verdict of its own: where it fails, sums over all ranks say so. Must outlive the program.
template <class T>
class preconditioner_of_rank {
 public:
  /// local: a rank's rows by its own columns and ghosts, in host memory; the request has the same on the place, and is
  /// read there if the rank has no ghosts. Puts what it makes into the request; nothing where the rank has no rows.
  /// chosen has a description. Throws whilst::error on one that is not for several ranks.
  preconditioner_of_rank(std::string_view doing, const csr_matrix<T>& local, const method_needs& method,
                         const preconditioner_choice& chosen, solve_request<T>& request);
  /// Takes new values: between solves. on_place: the same, where the request has them.
  void update_values(const csr_matrix<T>& local, const T* on_place);
  /// What was made, in words.
  std::string words() const;

 private:
  std::string name_;
  bool hears_of_values_;
  std::optional<matrix_on_place<T>> block_;  ///< if there are ghosts
  buffer<const T*> values_;                  ///< where M finds their address
  std::unique_ptr<matrix_preconditioner<T>> made_;
};

extern template class preconditioner_of_rank<float>;
extern template class preconditioner_of_rank<double>;

}  // namespace whilst
