#pragma once

// What a preconditioner that the library makes from a matrix does to vectors, by every executor that takes steps.

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <Eigen/Dense>

#include "solvers/linear/preconditioners/matrix_preconditioner.hpp"
#include "tests/engine/toy.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst_test {

template <class T>
using preconditioner_for_test =
    std::function<std::unique_ptr<whilst::matrix_preconditioner<T>>(const whilst::solve_request<T>&)>;

/// The columns M e_j of a preconditioner for factor times A, by one executor. Throws if a second run of the program has
/// other bits: under sanitizers it looks at one column in 16.
template <class T>
Eigen::MatrixXd matrix_of(const preconditioner_for_test<T>& make, const whilst::csr_matrix<T>& A, const way& w,
                          double factor = 1, bool wide_offsets = false) {
  using whilst::buffer;
  const whilst::index_type n = A.rows();
  std::vector<std::int32_t> offsets;
  for (whilst::index_type i = 0; i <= n; ++i) offsets.push_back(static_cast<std::int32_t>(A.row_offset(i)));
  const std::vector<std::int64_t> wide(offsets.begin(), offsets.end());
  const buffer<std::int32_t> narrow_there(w.where, n + 1, offsets.data()),
      columns(w.where, A.nonzeros(), A.column_indices().data());
  const buffer<std::int64_t> wide_there(w.where, n + 1, wide.data());
  const buffer<T> entries(w.where, A.nonzeros(), A.values().data());
  const buffer<double> factor_there(w.where, 1, &factor);
  whilst::solve_request<T> request;
  request.where = w.where;
  request.rows = request.columns = n;
  request.nonzeros = A.nonzeros();
  request.row_offsets = wide_offsets ? static_cast<const void*>(wide_there.data()) : narrow_there.data();
  request.offsets_64 = wide_offsets;
  request.column_indices = columns.data();
  request.values = entries.data();
  const auto M = make(request);

  whilst::program_recorder record(w.where);
  buffer<T> r(w.where, n), z(w.where, n);
  struct places {
    const T** values;
    whilst::control* loop;
  };
  const places at = record.arena([&](whilst::arena_layout& memory) {
    const places taken{memory.take<const T*>(1), memory.take<whilst::control>(1)};
    M->read_values_from({taken.values});
    M->take_memory(n, memory);
    return taken;
  });
  record.parameter<const T*>(at.values, entries.data());
  record.parameter(&at.loop->settings, whilst::control_settings{.limit = 1});
  record.loop(
      "once", at.loop, [&](whilst::recorder& run) { M->prepare_by_itself(run, factor_there.data()); },
      [&](whilst::recorder& run) { M->apply(run, r.data(), z.data()); });
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how});

  Eigen::MatrixXd all(n, n);
  for (whilst::index_type j = 0; j < n; ++j) {
    std::vector<T> unit(static_cast<std::size_t>(n), T(0));
    unit[static_cast<std::size_t>(j)] = 1;
    r.upload(unit.data());
    run(program);
    const std::vector<T> once = values(z);
    if (!under_sanitizers || j % 16 == 0) {
      run(program);
      const std::vector<T> again = values(z);
      if (std::memcmp(once.data(), again.data(), once.size() * sizeof(T)) != 0)
        throw whilst::error("testing a preconditioner", "a second run has other bits", "Find out why");
    }
    for (whilst::index_type i = 0; i < n; ++i) all(i, j) = static_cast<double>(once[static_cast<std::size_t>(i)]);
  }
  return all;
}

}  // namespace whilst_test
