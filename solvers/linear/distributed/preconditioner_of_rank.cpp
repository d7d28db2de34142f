#include "solvers/linear/distributed/preconditioner_of_rank.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "solvers/linear/host_array.hpp"

namespace whilst {
namespace {

/// Calls visit(i, first, last) for each row's entries. Rows are shared among the host's threads.
template <class T, class Visit>
void visit_rows(const csr_matrix<T>& local, const Visit& visit) {
  detail::visit_ranges(static_cast<std::size_t>(local.rows()), [&](std::size_t begin, std::size_t end) {
    for (auto i = static_cast<index_type>(begin); i < static_cast<index_type>(end); ++i)
      visit(static_cast<std::size_t>(i), static_cast<std::size_t>(local.row_offset(i)),
            static_cast<std::size_t>(local.row_offset(i + 1)));
  });
}

/// Where the rows of a rank's diagonal block begin.
template <class T>
std::vector<std::int32_t> offsets_of_block(const csr_matrix<T>& local) {
  const std::span<const std::int32_t> columns = local.column_indices();
  std::vector<std::int32_t> offsets(static_cast<std::size_t>(local.rows()) + 1);
  visit_rows(local, [&](std::size_t i, std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) offsets[i + 1] += columns[k] < local.rows();
  });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

/// Of an array with an entry for each of a rank's nonzeros, those of the diagonal block.
template <class T, class Entry>
std::vector<Entry> entries_of_block(const csr_matrix<T>& local, std::span<const std::int32_t> offsets,
                                    std::span<const Entry> entries) {
  const std::span<const std::int32_t> columns = local.column_indices();
  std::vector<Entry> own(static_cast<std::size_t>(offsets.back()));
  visit_rows(local, [&](std::size_t i, std::size_t first, std::size_t last) {
    auto to = static_cast<std::size_t>(offsets[i]);
    for (std::size_t k = first; k < last; ++k)
      if (columns[k] < local.rows()) own[to++] = entries[k];
  });
  return own;
}

template <class T>
csr_matrix<T> own_block(const csr_matrix<T>& local) {
  std::vector<std::int32_t> offsets = offsets_of_block(local);
  auto columns = entries_of_block(local, offsets, local.column_indices());
  auto values = entries_of_block(local, offsets, local.values());
  return csr_matrix<T>::adopt(local.rows(), local.rows(), std::move(offsets), std::move(columns), std::move(values));
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
  if (local.columns() > local.rows()) block_.emplace(own_block(local), request.where, false, doing);
  const solve_request<T>& block = block_ ? block_->request() : request;
  values_ = buffer<const T*>(request.where, 1, &block.values);
  made_ =
      chosen.description->maker<T>()({block, block_ ? &block_->given() : &local, block.values}, method, chosen.options);
  request.preconditioner_parts = made_.get();
  request.values_of_M = {values_.data()};
}

template <class T>
void preconditioner_of_rank<T>::update_values(const csr_matrix<T>& local, const T* on_place) {
  if (!made_) return;
  if (!block_) {
    values_.upload(&on_place);
    if (hears_of_values_) made_->values_changed(local, local.values().data());
    return;
  }
  const std::vector<T> values = entries_of_block(local, block_->given().row_offsets_32(), local.values());
  block_->update_values(values);
  values_.upload(&block_->request().values);
  if (hears_of_values_) made_->values_changed(block_->given(), values.data());
}

template <class T>
std::string preconditioner_of_rank<T>::words() const {
  return name_ + ", within ranks; on this one: " + (made_ ? made_->description() : "no rows");
}

template class preconditioner_of_rank<float>;
template class preconditioner_of_rank<double>;

}  // namespace whilst
