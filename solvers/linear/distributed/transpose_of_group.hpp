#pragma once

#include <cstdint>

#include "whilst/basics/views.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/linear/distributed/distributed_csr_matrix.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

/// The transpose of a distributed matrix, its rows split as that one's columns. Products with it have a halo of their
/// own. Row j has the entries of column j in the order of rows, and those of a row in its order, on any number of
/// ranks. Collective. Made on the host: the entries of a rank's columns travel to all ranks, one rank's after
/// another's.
template <class T>
distributed_csr_matrix<T> transposed(const distributed_csr_matrix<T>& A);

/// The same where a solver needs it, with values of its own.
template <class T>
class transpose_of_group {
 public:
  using rows_type = csr_operator<T, std::int32_t, constant_slot<const T>>;

  /// Collective.
  transpose_of_group(const distributed_csr_matrix<T>& A, place where);
  const halo_plan& halo() const { return on_host_.halo(); }
  /// This rank's, for steps.
  rows_type rows() const;
  /// Takes the values of A, which has the pattern that it was made with. Collective, with no solve in flight.
  void update_values(const distributed_csr_matrix<T>& A);

 private:
  distributed_csr_matrix<T> on_host_;
  buffer<std::int32_t> row_offsets_, column_indices_;
  buffer<T> values_;
  buffer<const T*> address_of_values_;
};

extern template class transpose_of_group<float>;
extern template class transpose_of_group<double>;

}  // namespace whilst
