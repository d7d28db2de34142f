#include "solvers/linear/stored_matrix.hpp"

#include "solvers/linear/automatic/choose_method.hpp"
#include "solvers/linear/scaling/scaling.hpp"
#include "solvers/linear/scaling/substituted_matrix.hpp"

namespace whilst {

template <class T>
stored_matrix<T>::stored_matrix(std::string_view doing, const csr_matrix<T>& A, place where,
                                const linear_solver_options& options, whilst::executor how, bool needs_transpose)
    : csr_(A, where, options.check_pointers, doing) {
  const bool is_automatic = options.format == automatic_format;
  solve_request<T> placed = csr_.request();
  if (has_permutation(options))
    permuted_ = make_permuted_matrix<T>(doing, options.permutation,
                                        A.is_on_device() ? copied_to_host(A, A.values_data(), where) : A, placed);
  const csr_matrix<T>& stored = permuted_ ? permuted_->pattern() : A;
  const solve_request<T>& stored_on_place = permuted_ ? permuted_->request() : placed;
  format_ = !needs_transpose ? format_for(stored, stored_on_place, options, how)
            : is_automatic   ? format_choice{"csr", "since no other has its transpose"}
                             : format_choice{"csr", ""};
  const bool rounds = rounds_values<T>(options);
  if (format_.format != csr_format) {
    const bool is_copied = stored.is_on_device() && needs_pattern(format_.format);
    formatted_ = make_formatted_matrix<T>(
        format_.format, is_copied ? copied_to_host(A, A.values_data(), where) : stored, stored_on_place, rounds);
  }
  const scaling_kind scaling = scaling_from_name(doing, options.scaling);
  if (!changes_matrix<T>(options)) return;
  if (scaling == scaling_kind::equilibrate) {
    transpose_ = transpose_on_place<T>(A, where, placed.offsets_64);
    transpose_.put_into(placed);
  }
  substituted_ = make_substituted_matrix<T>(scaling, placed, formatted_.get(), rounds, permuted_.get());
}

template <class T>
solve_request<T> stored_matrix<T>::request(bool needs_transpose) {
  solve_request<T> request = csr_.request();
  if (needs_transpose) {
    if (!transpose_.is_made()) transpose_ = transpose_on_place<T>(given(), request.where, request.offsets_64);
    transpose_.put_into(request);
  }
  if (formatted_) request.parts = formatted_.get();
  if (format_.format == "ell") request.slices = formatted_.get();
  if (substituted_) request.parts = substituted_.get();
  return request;
}

template <class T>
std::vector<memory_item> stored_matrix<T>::memory() const {
  std::vector<memory_item> items{csr_.memory()};
  if (const index_type bytes = transpose_.bytes())
    items.push_back(
        {.name = "the transpose's pattern", .where = name_of(where()), .bytes = static_cast<std::size_t>(bytes)});
  if (permuted_)
    items.push_back({.name = "the permuted matrix",
                     .where = name_of(where()),
                     .bytes = static_cast<std::size_t>(permuted_->bytes())});
  if (formatted_ && formatted_->bytes() > 0)
    items.push_back({.name = "the pattern as " + format_.format,
                     .where = name_of(formatted_->where()),
                     .bytes = static_cast<std::size_t>(formatted_->bytes())});
  return items;
}
template <class T>
index_type stored_matrix<T>::bytes() const {
  return csr_.bytes() + (permuted_ ? permuted_->bytes() : 0) + (formatted_ ? formatted_->bytes() : 0) +
         transpose_.bytes();
}

template class stored_matrix<float>;
template class stored_matrix<double>;

}  // namespace whilst
