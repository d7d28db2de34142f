#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "whilst/linear/distributed/distributed_csr_matrix.hpp"
#include "whilst/linear/distributed/distributed_operator.hpp"

namespace whilst {

/// Some rows of a dense matrix in double, row by row.
struct dense_rows {
  index_type n, columns;
  const double* entries;
  WHILST_HD index_type rows() const { return n; }
  WHILST_HD int lanes_wanted() const { return 32; }
  index_type bytes() const { return n * columns * static_cast<index_type>(sizeof(double)); }
  template <class X, class Team>
  WHILST_HD auto row(index_type i, const X& x, const Team& team) const {
    double sum = 0;
    for (index_type j = team.rank(); j < columns; j += team.size())
      sum += entries[i * columns + j] * static_cast<double>(x[j]);
    return static_cast<std::remove_cvref_t<decltype(x[0])>>(team.sum(sum));
  }
};

/// A coarse space, as the steps of one rank see it: P has a column of ones for each aggregate of rows, and E = P'A P.
template <class T>
struct coarse_steps {
  index_type aggregates = 0;  ///< this rank's
  const std::int32_t *first_members = nullptr, *members = nullptr, *aggregate_of = nullptr;
  distributed_operator<T, dense_rows> inverse;  ///< of E
};

/// The space of vectors that are constant on aggregates: connected rows of one rank, some hundred aggregates on all
/// ranks together. The host makes E and its inverse, of which each rank keeps its rows: whoever has the coarse residual
/// sends it to all as a halo, and each rank solves for its own unknowns by a product. Must outlive the program.
template <class T>
class coarse_space {
 public:
  static constexpr index_type unknowns_wanted = 512;
  /// Collective.
  coarse_space(const exchange& ranks, const distributed_csr_matrix<T>& A);
  /// E for new values. Collective, between solves.
  void update_values(const distributed_csr_matrix<T>& A);
  /// See exchange::recover. Collective.
  void recover() { halo_->recover(); }
  coarse_steps<T> of_steps() const;
  std::string words() const { return std::to_string(unknowns_) + " coarse unknowns on all ranks"; }

 private:
  /// The rows of E^-1 that this rank has, by own columns and ghosts.
  std::vector<double> own_rows_of_inverse(const std::vector<double>& E) const;

  std::vector<std::int32_t> aggregate_of_;  ///< on the host
  index_type own_ = 0, first_ = 0, unknowns_ = 0;
  buffer<std::int32_t> first_members_, members_, aggregates_on_place_;
  buffer<double> inverse_;
  std::optional<halo> halo_;
};

extern template class coarse_space<float>;
extern template class coarse_space<double>;

}  // namespace whilst
