#include "solvers/linear/automatic/choose_method.hpp"

#include <vector>

#include "solvers/linear/sorted_rows.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {

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
