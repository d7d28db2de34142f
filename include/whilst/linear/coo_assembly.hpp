#pragma once

#include <memory>
#include <span>
#include <string>

#include "whilst/host/replayed_solver.hpp"
#include "whilst/linear/csr_matrix.hpp"

namespace whilst {

struct coo_assembly_options {
  /// Where sums are formed: "auto", "host", "stream" or "graph". "auto" consults the environment variable
  /// WHILST_EXECUTOR first, then takes the GPU if there is one.
  std::string executor = "auto";
  int device = -1;  ///< of the GPU; -1 for the current one
  /// As in linear_solver_options, for the pointers given to enqueue.
  bool check_pointers = true;

  bool operator==(const coo_assembly_options&) const = default;
};

/// Assembles a sparse matrix from contributions in coordinate form: a row, a column and a value each, in any order, as
/// many for one entry as there are. Rows and columns are given once and sorted on the host. The values, as they change,
/// are added up into those of the CSR matrix where they lie, in host memory or on a GPU.
///
/// An entry is the sum of its contributions in the order in which they were given, formed in double and rounded once:
/// the same bits on every executor, each time. Entries whose contributions cancel stay in the pattern. One sum at a
/// time; threads may share it, and each waits until the others return.
template <class T>
class coo_assembly {
 public:
  /// row_indices, column_indices: one of each a contribution, counted from 0; read now, not kept. Allocates memory for
  /// the pattern, 4 bytes a contribution besides, and the same on the GPU. Throws whilst::error, naming the first
  /// contribution that lies outside of the matrix, on arrays of different lengths, on more than 2^31 - 1 contributions,
  /// and on an executor that this machine does not have.
  coo_assembly(index_type rows, index_type columns, const integer_array& row_indices,
               const integer_array& column_indices, coo_assembly_options options = {});
  ~coo_assembly();
  coo_assembly(coo_assembly&&) noexcept;
  coo_assembly& operator=(coo_assembly&&) noexcept;

  index_type rows() const;
  index_type columns() const;
  index_type contributions() const;
  /// Entries of the matrix: different places that have contributions.
  index_type nonzeros() const;
  /// "host", "stream" or "graph".
  std::string executor() const;

  /// The assembled matrix in host memory, columns ascending in each row. `values`: one a contribution, in the order of
  /// the indices. Throws whilst::error on another number of them.
  csr_matrix<T> matrix(std::span<const T> values) const;
  /// The pattern, on the executor's place, with values in memory of that place: nonzeros() numbers that belong to the
  /// caller, as enqueue writes them. A solver made from it reads them there. Borrowed: this object must outlive it.
  csr_matrix<T> matrix_with(const T* entries) const;

  /// Adds up on `stream` without waiting (under "graph"; "stream" and "host" return when it is done). values, one a
  /// contribution, and entries, nonzeros() numbers that receive the sums, are pointers to memory of the executor's
  /// place and must not overlap. Stream order, captures and errors are those of linear_solver::enqueue.
  void enqueue(stream_handle stream, const T* values, T* entries);
  /// Waits for what was enqueued.
  void wait() const;

 private:
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

extern template class coo_assembly<float>;
extern template class coo_assembly<double>;

}  // namespace whilst
