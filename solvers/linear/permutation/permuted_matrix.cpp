// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/permutation/permuted_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "solvers/linear/permutation/permutation.hpp"
#include "whilst/basics/safe_norm.hpp"

namespace whilst {
namespace {

/// Row k of B: the entries of A's row rows[k], in the order of B's columns.
template <class T, class Offset>
struct permute_values {
  const Offset *row_offsets, *sources;  ///< of B, and where A has each entry
  const std::int32_t *rows, *columns_of_A;
  constant_slot<const T> of_A;
  const T *R, *C;  ///< null for ones
  T* values;
  index_type nonzeros;

  WHILST_HD void operator()(index_type k) const {
    const double of_row = R ? static_cast<double>(R[rows[k]]) : 1;
    for (Offset e = row_offsets[k]; e < row_offsets[k + 1]; ++e) {
      const Offset source = sources[e];
      const double value = of_row * static_cast<double>(of_A.get()[source]);
      values[e] = static_cast<T>(C ? value * static_cast<double>(C[columns_of_A[source]]) : value);
    }
  }
  index_type bytes(index_type n) const {
    return n * static_cast<index_type>(sizeof(Offset)) +
           nonzeros * static_cast<index_type>(2 * sizeof(T) + sizeof(Offset) + (C ? sizeof(std::int32_t) : 0));
  }
};

/// The power of two nearest to e^log, within what T and the products of two such scales can hold.
template <class T>
T scale_of_log(double log) {
  constexpr double most = sizeof(T) == 4 ? 60 : 500, ln_2 = 0.6931471805599453;
  return static_cast<T>(power_of_two(static_cast<int>(std::clamp(std::round(log / ln_2), -most, most))));
}
template <class T>
std::vector<T> scales_of_logs(const std::vector<double>& logs) {
  std::vector<T> made(logs.size());
  std::transform(logs.begin(), logs.end(), made.begin(), scale_of_log<T>);
  return made;
}

template <class T, class Offset>
class placed_permuted_matrix final : public permuted_matrix<T> {
 public:
  placed_permuted_matrix(const permutation& found, const csr_matrix<T>& A, const solve_request<T>& placed)
      : columns_of_A_(A.column_indices().begin(), A.column_indices().end()),
        host_rows_(found.rows),
        host_R_(scales_of_logs<T>(found.scales.row)),
        host_C_(scales_of_logs<T>(found.scales.column)),
        A_on_place_(placed),
        B_(placed),
        pattern_(permuted(A, found)) {
    const place where = placed.where;
    const factorization::indices places = factorization::inverse_of(found.columns);
    rows_ = buffer<std::int32_t>(where, A.rows(), found.rows.data());
    places_ = buffer<std::int32_t>(where, A.rows(), places.data());
    if (!host_R_.empty()) {
      R_ = buffer<T>(where, A.rows(), host_R_.data());
      C_ = buffer<T>(where, A.rows(), host_C_.data());
    }
    row_offsets_ = buffer<Offset>(where, A.rows() + 1, host_offsets_.data());
    sources_ = buffer<Offset>(where, A.nonzeros(), host_sources_.data());
    columns_ = buffer<std::int32_t>(where, A.nonzeros(), pattern_.column_indices_data());
    values_ = buffer<T>(where, A.nonzeros(), pattern_.values_data());
    B_.row_offsets = row_offsets_.data();
    B_.column_indices = columns_.data();
    B_.values = values_.data();
    address_ = buffer<const T*>(where, 1, &B_.values);
  }

  const csr_matrix<T>& pattern() const override { return pattern_; }
  const solve_request<T>& request() const override { return B_; }
  constant_slot<const T> values() const override { return {address_.data()}; }
  const std::int32_t* rows() const override { return rows_.data(); }
  const std::int32_t* places() const override { return places_.data(); }
  const T* R() const override { return host_R_.empty() ? nullptr : R_.data(); }
  const T* C() const override { return host_R_.empty() ? nullptr : C_.data(); }

  void record_values(recorder& run, constant_slot<const T> of_A, const T* R, const T* C) const override {
    run.step("the values of P R A C Q", B_.rows,
             permute_values<T, Offset>{row_offsets_.data(), sources_.data(), rows_.data(), A_on_place_.column_indices,
                                       of_A, R, C, values_.data(), B_.nonzeros});
  }
  std::vector<T> values_from(const T* of_A) const override {
    std::vector<T> made(host_sources_.size());
    const bool scales = !host_R_.empty();
    const permute_values<T, Offset> permute{host_offsets_.data(),
                                            host_sources_.data(),
                                            host_rows_.data(),
                                            columns_of_A_.data(),
                                            {&of_A},
                                            scales ? host_R_.data() : nullptr,
                                            scales ? host_C_.data() : nullptr,
                                            made.data(),
                                            B_.nonzeros};
    for (index_type k = 0; k < B_.rows; ++k) permute(k);
    return made;
  }
  index_type bytes() const override {
    return rows_.bytes() + places_.bytes() + R_.bytes() + C_.bytes() + row_offsets_.bytes() + sources_.bytes() +
           columns_.bytes() + values_.bytes();
  }

 private:
  /// Also fills what B's entries are found by.
  csr_matrix<T> permuted(const csr_matrix<T>& A, const permutation& found) {
    const factorization::indices places = factorization::inverse_of(found.columns);
    const auto place_of = [&](Offset source) {
      return places[static_cast<std::size_t>(columns_of_A_[static_cast<std::size_t>(source)])];
    };
    host_sources_.resize(columns_of_A_.size());
    std::vector<std::int32_t> columns(columns_of_A_.size());
    host_offsets_.assign(1, 0);
    for (const std::int32_t row : found.rows) {
      const auto first = static_cast<Offset>(A.row_offset(row)), last = static_cast<Offset>(A.row_offset(row + 1));
      const auto begin = host_sources_.begin() + static_cast<std::ptrdiff_t>(host_offsets_.back());
      std::iota(begin, begin + static_cast<std::ptrdiff_t>(last - first), first);
      std::stable_sort(begin, begin + static_cast<std::ptrdiff_t>(last - first),
                       [&](Offset a, Offset b) { return place_of(a) < place_of(b); });
      host_offsets_.push_back(host_offsets_.back() + last - first);
    }
    std::transform(host_sources_.begin(), host_sources_.end(), columns.begin(), place_of);
    return csr_matrix<T>::adopt(A.rows(), A.columns(), host_offsets_, std::move(columns), values_from(A.values_data()));
  }

  std::vector<std::int32_t> columns_of_A_, host_rows_;
  std::vector<T> host_R_, host_C_;
  std::vector<Offset> host_offsets_, host_sources_;
  solve_request<T> A_on_place_, B_;
  csr_matrix<T> pattern_;
  buffer<std::int32_t> rows_, places_, columns_;
  buffer<T> R_, C_, values_;
  buffer<Offset> row_offsets_, sources_;
  buffer<const T*> address_;
};

}  // namespace

template <class T>
std::unique_ptr<permuted_matrix<T>> make_permuted_matrix(std::string_view doing, std::string_view name,
                                                         const csr_matrix<T>& A, const solve_request<T>& placed) {
  const auto found = find_permutation(doing, name, A);
  if (placed.offsets_64) return std::make_unique<placed_permuted_matrix<T, std::int64_t>>(found, A, placed);
  return std::make_unique<placed_permuted_matrix<T, std::int32_t>>(found, A, placed);
}
template std::unique_ptr<permuted_matrix<WHILST_NUMBER>> make_permuted_matrix(std::string_view, std::string_view,
                                                                              const csr_matrix<WHILST_NUMBER>&,
                                                                              const solve_request<WHILST_NUMBER>&);

}  // namespace whilst
