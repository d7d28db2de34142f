#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "solvers/linear/formats/formats.hpp"
#include "solvers/linear/formats/host_pattern.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst {

/// The values in a format's order; 0 for padding, whose origin is -1.
template <class T>
struct gather_values {
  constant_slot<const T> given;
  const std::int32_t* origin;
  T* values;
  WHILST_HD void operator()(index_type k) const {
    const std::int32_t from = read_constant(origin + k);
    values[k] = from < 0 ? T(0) : given.get()[from];
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(std::int32_t) + 2 * sizeof(T)); }
};

/// What the formats share: the arrays of the pattern; the diagonal is that of the CSR matrix.
template <class T>
class patterned_matrix : public formatted_matrix<T> {
 public:
  place where() const final { return csr_.where; }
  index_type rows() const final { return csr_.rows; }
  index_type bytes() const final { return bytes_; }
  void read_values_from(constant_slot<const T> values) final {
    given_ = values;
    diagonal_of_ = csr_.offsets_64 ? make_csr_operator<T>(csr_.where, csr_of<std::int64_t>(csr_))
                                   : make_csr_operator<T>(csr_.where, csr_of<std::int32_t>(csr_));
    diagonal_of_->read_values_from(values);
  }
  bool has_diagonal() const final { return true; }
  void diagonal(recorder& run, T* d) const final { diagonal_of_->diagonal(run, d); }

 protected:
  explicit patterned_matrix(const solve_request<T>& csr) : csr_(csr) {}

  /// A copy of an array on the matrix's place, for as long as the matrix.
  template <class Entry>
  const Entry* keep(const std::vector<Entry>& array) {
    const raw_buffer& kept = arrays_.emplace_back(csr_.where, array.size() * sizeof(Entry), array.data());
    bytes_ += static_cast<index_type>(kept.bytes());
    return static_cast<const Entry*>(kept.data());
  }
  index_type nonzeros() const { return csr_.nonzeros; }
  const std::int32_t* column_indices_of_csr() const { return csr_of<std::int32_t>(csr_).column_indices; }
  const constant_slot<const T>& values_of_csr() const { return given_; }

 private:
  solve_request<T> csr_;
  std::vector<raw_buffer> arrays_;
  index_type bytes_ = 0;
  constant_slot<const T> given_;
  std::unique_ptr<linear_operator<T>> diagonal_of_;
};

/// The formats that have the values in an order of their own: each program keeps them for itself and gathers them at
/// the start of each solve. Products read them after that step has ended, so they must not fetch them ahead, nor
/// through the read-only path.
template <class T>
class gathered_matrix : public patterned_matrix<T> {
 public:
  void take_memory(workspace& memory) override { values_ = memory.take<T>(stored_); }
  void prepare(recorder& run) const override {
    run.step("values in the format's order", stored_, gather_values<T>{this->values_of_csr(), origin_, values_});
  }

 protected:
  /// origin: for each stored entry, which one of the CSR matrix it is; -1 for padding.
  gathered_matrix(const solve_request<T>& csr, const std::vector<std::int32_t>& origin)
      : patterned_matrix<T>(csr), stored_(static_cast<index_type>(origin.size())), origin_(this->keep(origin)) {}

  index_type stored() const { return stored_; }
  const T* values() const { return values_; }

 private:
  index_type stored_;
  const std::int32_t* origin_;
  T* values_ = nullptr;
};

}  // namespace whilst
