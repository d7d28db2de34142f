#include "solvers/linear/distributed/preconditioner_of_rank.hpp"

#include <algorithm>
#include <array>

namespace whilst {
namespace {

/// Calls visit(row, column, value) for each entry of a rank's rows in a column of its own.
template <class T, class Visit>
void for_own_entries(const csr_matrix<T>& local, const Visit& visit) {
  const std::span<const std::int32_t> columns = local.column_indices();
  const std::span<const T> values = local.values();
  for (index_type i = 0; i < local.rows(); ++i)
    for (auto k = static_cast<std::size_t>(local.row_offset(i)); k < static_cast<std::size_t>(local.row_offset(i + 1));
         ++k)
      if (columns[k] < local.rows()) visit(i, columns[k], values[k]);
}

template <class T>
csr_matrix<T> own_block(const csr_matrix<T>& local) {
  const index_type n = local.rows();
  std::vector<std::int32_t> row_offsets(static_cast<std::size_t>(n) + 1), columns;
  std::vector<T> values;
  for_own_entries(local, [&](index_type i, std::int32_t column, T value) {
    ++row_offsets[static_cast<std::size_t>(i) + 1];
    columns.push_back(column);
    values.push_back(value);
  });
  for (std::size_t i = 1; i < row_offsets.size(); ++i) row_offsets[i] += row_offsets[i - 1];
  return csr_matrix<T>(n, n, row_offsets, columns, values);
}

/// Those whose M for a diagonal block is one for the whole matrix.
void require_within_ranks(std::string_view doing, const preconditioner_choice& chosen) {
  constexpr std::array within{"amg", "ilu", "ic", "fsai", "spai", "block_jacobi", "ssor", "schwarz"};
  if (std::find(within.begin(), within.end(), chosen.name) != within.end()) return;
  std::string names = "none, jacobi";
  for (const char* const one : within) names.append(", ").append(one);
  names += ", chebyshev";
  throw error(doing, "preconditioner " + chosen.name + " is not for several ranks", "Use one of " + names);
}

}  // namespace

template <class T>
preconditioner_of_rank<T>::preconditioner_of_rank(std::string_view doing, const csr_matrix<T>& local,
                                                  const method_needs& method, const preconditioner_choice& chosen,
                                                  solve_request<T>& request)
    : name_(chosen.name) {
  require_within_ranks(doing, chosen);
  hears_of_values_ = chosen.description->hears_of_values;
  request.preconditioner = preconditioner_kind::parts;
  if (local.rows() == 0) return;
  block_ = matrix_on_place<T>(own_block(local), request.where, false, doing);
  values_ = buffer<const T*>(request.where, 1, &block_.request().values);
  made_ = chosen.description->maker<T>()({block_.request(), &block_.given(), block_.request().values}, method,
                                         chosen.options);
  request.preconditioner_parts = made_.get();
  request.values_of_M = {values_.data()};
}

template <class T>
void preconditioner_of_rank<T>::update_values(const csr_matrix<T>& local) {
  if (!made_) return;
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(block_.request().nonzeros));
  for_own_entries(local, [&](index_type, std::int32_t, T value) { values.push_back(value); });
  block_.update_values(values);
  values_.upload(&block_.request().values);
  if (hears_of_values_) made_->values_changed(block_.given(), values.data());
}

template <class T>
std::string preconditioner_of_rank<T>::words() const {
  return name_ + ", within ranks; on this one: " + (made_ ? made_->description() : "no rows");
}

template class preconditioner_of_rank<float>;
template class preconditioner_of_rank<double>;

}  // namespace whilst
