#include "solvers/linear/choose_method.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "solvers/linear/host_array.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {
namespace {

/// A host matrix whose rows are sorted: what it borrows, or a sorted copy.
template <class T>
class sorted_rows {
 public:
  sorted_rows(const csr_matrix<T>& A, std::span<const T> values)
      : A_(A), columns_(A.column_indices()), values_(values) {
    const auto rows = static_cast<std::size_t>(A.rows());
    const std::size_t unsorted = detail::first_index(rows, [&](std::size_t i) {
      const auto row = columns_.subspan(begin_of(i), begin_of(i + 1) - begin_of(i));
      return !std::is_sorted(row.begin(), row.end());
    });
    if (unsorted < rows) sort();
  }
  std::size_t begin_of(std::size_t row) const {
    return static_cast<std::size_t>(A_.has_64bit_offsets()
                                        ? static_cast<const std::int64_t*>(A_.row_offsets_data())[row]
                                        : static_cast<const std::int32_t*>(A_.row_offsets_data())[row]);
  }
  std::int32_t column(std::size_t k) const { return columns_[k]; }

  /// The sum of what lies at one position.
  double at(std::size_t row, std::int32_t column) const {
    const auto begin = columns_.begin() + static_cast<std::ptrdiff_t>(begin_of(row));
    const auto end = columns_.begin() + static_cast<std::ptrdiff_t>(begin_of(row + 1));
    double sum = 0;
    for (auto found = std::lower_bound(begin, end, column); found != end && *found == column; ++found)
      sum += static_cast<double>(values_[static_cast<std::size_t>(found - columns_.begin())]);
    return sum;
  }

 private:
  void sort() {
    const auto count = columns_.size(), rows = static_cast<std::size_t>(A_.rows());
    own_columns_.resize(count);
    own_values_.resize(count);
    detail::visit_ranges(rows, [&](std::size_t first, std::size_t last) {
      std::vector<std::size_t> order;
      for (std::size_t i = first; i < last; ++i) {
        order.resize(begin_of(i + 1) - begin_of(i));
        std::iota(order.begin(), order.end(), begin_of(i));
        std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
          return columns_[one] != columns_[other] ? columns_[one] < columns_[other] : one < other;
        });
        for (std::size_t k = 0; k < order.size(); ++k) {
          own_columns_[begin_of(i) + k] = columns_[order[k]];
          own_values_[begin_of(i) + k] = values_[order[k]];
        }
      }
    });
    columns_ = own_columns_;
    values_ = own_values_;
  }

  const csr_matrix<T>& A_;
  std::span<const std::int32_t> columns_;
  std::span<const T> values_;
  std::vector<std::int32_t> own_columns_;
  std::vector<T> own_values_;
};

template <class T>
bool is_symmetric(const sorted_rows<T>& A, index_type rows) {
  const auto n = static_cast<std::size_t>(rows);
  const auto as_much = [&](std::size_t i, std::int32_t j, double one, double other) {
    if (one == other) return true;
    const double diagonals = std::sqrt(std::abs(A.at(i, static_cast<std::int32_t>(i)))) *
                             std::sqrt(std::abs(A.at(static_cast<std::size_t>(j), j)));
    const double size = std::max({std::abs(one), std::abs(other), diagonals});
    return std::isfinite(size) &&
           std::abs(one - other) <= 8 * static_cast<double>(std::numeric_limits<T>::epsilon()) * size;
  };
  return detail::first_index(n, [&](std::size_t i) {
           const std::size_t end = A.begin_of(i + 1);
           for (std::size_t k = A.begin_of(i); k < end; ++k) {
             const std::int32_t j = A.column(k);
             if (!as_much(i, j, A.at(i, j), A.at(static_cast<std::size_t>(j), static_cast<std::int32_t>(i))))
               return true;
           }
           return false;
         }) == n;
}

/// Whether all entries of the diagonal are positive, or all negative.
template <class T>
bool has_diagonal_of_one_sign(const sorted_rows<T>& A, index_type rows) {
  const auto n = static_cast<std::size_t>(rows);
  const auto all = [&](double sign) {
    return detail::first_index(n, [&](std::size_t i) { return !(sign * A.at(i, static_cast<std::int32_t>(i)) > 0); }) ==
           n;
  };
  return all(1) || all(-1);
}

}  // namespace

template <class T>
bool is_symmetric(const csr_matrix<T>& A) {
  return A.rows() == A.columns() && is_symmetric(sorted_rows<T>(A, A.values()), A.rows());
}

template <class T>
method_choice choose_method(const csr_matrix<T>& A, std::span<const T> values) {
  const sorted_rows<T> rows(A, values);
  const bool symmetric = is_symmetric(rows, A.rows());
  if (symmetric && has_diagonal_of_one_sign(rows, A.rows()))
    return {"cg", "since the matrix is symmetric and its diagonal has one sign"};
  if (!symmetric) return {"bicgstab", "since the matrix is not symmetric"};
  return {"minres", "since the matrix is symmetric and its diagonal does not have one sign"};
}

template <class T>
csr_matrix<T> copied_to_host([[maybe_unused]] const csr_matrix<T>& A, [[maybe_unused]] const T* values,
                             [[maybe_unused]] place where) {
#if WHILST_WITH_CUDA
  const std::string_view doing = "copying a matrix to the host";
  const cuda::device_guard current(where.device());
  const cuda::stream own = cuda::make_stream();
  const auto copy = [&]<class Entry>(std::vector<Entry>& into, const void* from, index_type count) {
    into.resize(static_cast<std::size_t>(count));
    WHILST_CUDA(doing, cudaMemcpyAsync(into.data(), from, into.size() * sizeof(Entry), cudaMemcpyDefault, own.get()));
    cuda::finish_copies(doing, own.get());
  };
  const auto copied = [&]<class Offset>(std::vector<Offset> offsets) {
    std::vector<std::int32_t> columns;
    std::vector<T> of_entries;
    copy(offsets, A.row_offsets_data(), A.rows() + 1);
    copy(columns, A.column_indices_data(), A.nonzeros());
    copy(of_entries, values, A.nonzeros());
    return csr_matrix<T>::adopt(A.rows(), A.columns(), std::move(offsets), std::move(columns), std::move(of_entries));
  };
  return A.has_64bit_offsets() ? copied(std::vector<std::int64_t>()) : copied(std::vector<std::int32_t>());
#else
  return A;
#endif
}

method_choice choose_method_unseen() { return {"bicgstab", "since the matrix is known only by its products"}; }

const char* successor_of(const report_fields& ended) {
  const bool is_symmetric = ended.method == "cg" || ended.method == "minres";
  if (is_symmetric && ended.reason == reason::indefinite_preconditioner) return "bicgstab";
  const bool failed = ended.reason == reason::indefinite_operator || ended.reason == reason::breakdown ||
                      ended.reason == reason::stagnation || ended.reason == reason::divergence;
  if (ended.method == "cg") return failed ? "minres" : nullptr;
  const double half_the_digits = ended.precision == "float" ? 3e-4 : 1e-8;
  const bool drifted =
      ended.reason == reason::attainable_accuracy && ended.residual_norm > half_the_digits * ended.rhs_norm;
  return ended.method == "bicgstab" && (failed || drifted) ? "gmres" : nullptr;
}

template csr_matrix<float> copied_to_host(const csr_matrix<float>&, const float*, place);
template csr_matrix<double> copied_to_host(const csr_matrix<double>&, const double*, place);
template bool is_symmetric(const csr_matrix<float>&);
template bool is_symmetric(const csr_matrix<double>&);
template method_choice choose_method(const csr_matrix<float>&, std::span<const float>);
template method_choice choose_method(const csr_matrix<double>&, std::span<const double>);

}  // namespace whilst
