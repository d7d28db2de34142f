#pragma once

#include "whilst/engine/memory/memory.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// The pattern of a matrix's transpose where a solver needs it. Made on the host, in two passes over the entries; the
/// values are not part of it.
template <class T>
class transpose_on_place {
 public:
  transpose_on_place() = default;
  /// offsets_64: whether offsets have 64 bits, as the request that it is for says. Throws whilst::error on more rows
  /// than column indices can count.
  transpose_on_place(const csr_matrix<T>& A, place where, bool offsets_64);

  bool is_made() const { return is_made_; }
  /// Where the arrays lie.
  void put_into(solve_request<T>& request) const;
  index_type bytes() const;

 private:
  template <class Offset>
  void make(const csr_matrix<T>& A, place where);

  bool is_made_ = false;
  raw_buffer row_offsets_, sources_;
  buffer<std::int32_t> column_indices_;
};

extern template class transpose_on_place<float>;
extern template class transpose_on_place<double>;

}  // namespace whilst
