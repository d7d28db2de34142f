#pragma once

#include <string>
#include <string_view>

#include "whilst/engine/memory/memory.hpp"
#include "whilst/engine/memory/pointer_check.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

namespace detail {
/// Copies offsets that fit; both in memory of the place. Returns when it is done.
void narrow_offsets(place where, index_type count, const std::int64_t* wide, std::int32_t* narrow);
}  // namespace detail

/// A csr_matrix where a solver needs it: shared or copied from the host, or the caller's own device memory.
template <class T>
class matrix_on_place {
 public:
  matrix_on_place() = default;
  /// `doing` begins the messages of errors. check_pointers: for a matrix in device memory, as in linear_solver_options.
  matrix_on_place(const csr_matrix<T>& A, place where, bool check_pointers,
                  std::string_view doing = "making a linear solver")
      : A_(std::make_unique<csr_matrix<T>>(A)) {
    request_.where = where;
    request_.rows = A.rows();
    request_.columns = A.columns();
    request_.nonzeros = A.nonzeros();
    const bool narrow = A.has_64bit_offsets() && offsets_suffice_32(A.nonzeros());
    request_.offsets_64 = A.has_64bit_offsets() && !narrow;
    if (!A.has_64bit_offsets() && !offsets_suffice_32(A.nonzeros()))
      throw error(doing, "the matrix has " + std::to_string(A.nonzeros()) + " nonzeros",
                  "Give its row offsets in 64 bits");
    if (is_read_in_place(A)) {
      if (A.is_on_device()) {
        const pointer_check how{check_pointers};
        require_usable(doing, where, {{"row_offsets", A.row_offsets_data()}}, how);
        if (A.nonzeros() > 0)
          require_usable(doing, where, {{"column_indices", A.column_indices_data()}, {"values", A.values_data()}}, how);
      }
      request_.row_offsets = A.row_offsets_data();
      request_.column_indices = A.column_indices_data();
      request_.values = A.values_data();
      if (narrow) take_narrow(static_cast<const std::int64_t*>(A.row_offsets_data()));
      return;
    }
    values_ = buffer<T>(where, A.nonzeros(), A.values_data());
    request_.values = values_.data();
    const std::size_t offset_bytes = (A.has_64bit_offsets() ? 8 : 4) * static_cast<std::size_t>(A.rows() + 1);
    row_offsets_ = raw_buffer(where, offset_bytes, A.row_offsets_data());
    columns_ = buffer<std::int32_t>(where, A.nonzeros(), A.column_indices_data());
    request_.row_offsets = row_offsets_.data();
    if (narrow) take_narrow(static_cast<const std::int64_t*>(row_offsets_.data()));
    request_.column_indices = columns_.data();
  }

  const solve_request<T>& request() const { return request_; }
  const csr_matrix<T>& given() const { return *A_; }

  /// Whether a matrix already lies where it is used.
  bool is_read_in_place(const csr_matrix<T>& A) const { return A.is_on_device() || request_.where.on_host(); }

  /// The matrix's memory on its place, for memory(), including what it shares with the caller.
  memory_item memory() const {
    if (!A_) return {};
    const std::size_t offsets = (request_.offsets_64 ? 8 : 4) * static_cast<std::size_t>(request_.rows + 1);
    return {.name = A_->is_borrowed() && is_read_in_place(*A_) ? "the matrix (the caller's)" : "the matrix",
            .where = name_of(request_.where),
            .bytes = offsets + static_cast<std::size_t>(request_.nonzeros) * (sizeof(T) + sizeof(std::int32_t))};
  }
  /// Bytes of the copies, if there are any.
  index_type bytes() const {
    return values_.bytes() + columns_.bytes() + static_cast<index_type>(row_offsets_.bytes());
  }

  void update_values(std::span<const T> values) {
    if (A_->is_on_device())
      throw error("updating a matrix's values", "they lie in the caller's device memory",
                  "Change them there, or bind_values() another array");
    if (static_cast<index_type>(values.size()) != request_.nonzeros)
      throw error(
          "updating a matrix's values",
          "there are " + std::to_string(values.size()) + " for " + std::to_string(request_.nonzeros) + " nonzeros",
          "Give one for each, in the matrix's order");
    if (values_.size() != request_.nonzeros) values_ = buffer<T>(request_.where, request_.nonzeros);
    values_.upload(values.data());
    request_.values = values_.data();
  }

 private:
  /// Offsets in 32 bits: half the bytes, and what the methods' own kernels read.
  void take_narrow(const std::int64_t* wide) {
    const std::size_t count = static_cast<std::size_t>(request_.rows + 1);
    raw_buffer narrow(request_.where, count * sizeof(std::int32_t));
    detail::narrow_offsets(request_.where, request_.rows + 1, wide, static_cast<std::int32_t*>(narrow.data()));
    row_offsets_ = std::move(narrow);
    request_.row_offsets = row_offsets_.data();
  }

  std::unique_ptr<csr_matrix<T>> A_;  ///< keeps the host's arrays alive
  solve_request<T> request_;
  raw_buffer row_offsets_;
  buffer<std::int32_t> columns_;
  buffer<T> values_;
};

}  // namespace whilst
