#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "whilst/linear/prepared_solve.hpp"

namespace whilst {

/// b and x of a solve that may go on with another pair: solves work on them where they lie, and the host looks at them
/// in between. Where they lie in memory of a place, it looks at copies, made when it first asks.
template <class T>
class solve_vectors {
 public:
  /// In host memory.
  solve_vectors(std::span<const T> b, std::span<T> x) : b_(b), x_(x), has_b_(true), has_x_(true) {}
  /// In memory of the place, as for enqueue. Throws whilst::error if the stream is being captured, or b and x overlap.
  solve_vectors(place where, CUstream_st* stream, const T* b, index_type rows, T* x, index_type columns);

  std::span<const T> b() {
    if (!has_b_) fetch(b_copy_, b_on_place_, rows_), b_ = b_copy_, has_b_ = true;
    return b_;
  }
  /// What is changed here counts once put_x() is called.
  std::span<T> x() {
    if (!has_x_) fetch(x_copy_, x_on_place_, columns_), x_ = x_copy_, has_x_ = true;
    return x_;
  }
  void put_x();

  /// Runs one solve on them.
  std::shared_ptr<ticket::state> solve(prepared_solve<T>& by);

 private:
  static constexpr std::string_view doing = "solving a linear system";
  void fetch(std::vector<T>& copy, const T* from, index_type entries) const;
  void copy(void* to, const void* from, index_type entries) const;

  place where_ = place::host();
  CUstream_st* stream_ = nullptr;
  bool on_place_ = false;
  const T* b_on_place_ = nullptr;
  T* x_on_place_ = nullptr;
  index_type rows_ = 0, columns_ = 0;
  std::span<const T> b_;
  std::span<T> x_;
  bool has_b_ = false, has_x_ = false;
  std::vector<T> b_copy_, x_copy_;
};

extern template class solve_vectors<float>;
extern template class solve_vectors<double>;

}  // namespace whilst
