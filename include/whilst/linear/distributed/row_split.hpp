#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "whilst/group/group.hpp"
#include "whilst/linear/distributed/row_partition.hpp"

namespace whilst {

/// How the rows of a matrix that one rank had whole, and vectors with them, lie on the ranks of a group: see
/// distributed_csr_matrix::from_rank_0 and split. The *original* order is that of the whole matrix. Keeps a copy of the
/// group; what says "collective" is called by all ranks.
class row_split {
 public:
  row_split() = default;  ///< of one rank without rows
  /// In the original order: rank q has the consecutive rows that the partition says.
  row_split(group ranks, row_partition partition) : ranks_(std::move(ranks)), partition_(std::move(partition)) {}

  /// The number in the original order of this rank's row i, counted from 0. Ascends with i.
  index_type original_row(index_type i) const {
    return keeps_order_ ? partition_.first(ranks_.rank()) + i : original_rows_[static_cast<std::size_t>(i)];
  }
  /// This rank's entries of a vector that rank 0 has whole, in the original order; what others give is not read.
  /// Collective. Throws whilst::error unless rank 0 has an entry for each row.
  template <class T>
  std::vector<T> scatter(std::span<const T> whole) const;
  template <class T>
  std::vector<T> scatter(const std::vector<T>& whole) const {
    return scatter(std::span<const T>(whole));
  }
  /// The whole vector in the original order, on every rank, from the entries that each has. Collective. Throws
  /// whilst::error if a rank gives more or fewer than it has rows.
  template <class T>
  std::vector<T> gather(std::span<const T> own) const;
  template <class T>
  std::vector<T> gather(const std::vector<T>& own) const {
    return gather(std::span<const T>(own));
  }

 private:
  template <class>
  friend class distributed_csr_matrix;
  row_split(group ranks, row_partition partition, std::vector<std::int32_t> original_rows)
      : ranks_(std::move(ranks)),
        partition_(std::move(partition)),
        keeps_order_(false),
        original_rows_(std::move(original_rows)) {}

  group ranks_;
  row_partition partition_;
  bool keeps_order_ = true;  // then there is no list
  std::vector<std::int32_t> original_rows_;
};

/// @cond  Doxygen takes these for members that are missing.
extern template std::vector<float> row_split::scatter(std::span<const float>) const;
extern template std::vector<double> row_split::scatter(std::span<const double>) const;
extern template std::vector<float> row_split::gather(std::span<const float>) const;
extern template std::vector<double> row_split::gather(std::span<const double>) const;
/// @endcond

}  // namespace whilst
