#pragma once

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/index_type.hpp"
#include "whilst/basics/teams.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/steps/step.hpp"

struct CUstream_st;

namespace whilst {

/// Linear operators whose products are made row by row, within the steps of a method. One has rows(), lanes_wanted()
/// and row(i, x, team): entry i of A x, which every lane of the team receives. Your own needs no more than that.
/// Optionally, fetch(i, team) reads what does not depend on x, and row(fetched, i, x, team) uses it; those reads then
/// overlap with the step before. An operator that must run steps of its own before each product has no row:
/// before_apply(run, x) records them, and returns what has, for this x. Operators without rows are linear_operators, in
/// whilst/linear/linear_operator.hpp. Methods apply all of them by product(), in whilst/linear/products.hpp.

template <class Operator, class Team>
WHILST_HD auto fetch_row([[maybe_unused]] const Operator& A, [[maybe_unused]] index_type i,
                         [[maybe_unused]] const Team& team) {
  if constexpr (requires { A.fetch(i, team); }) {
    return A.fetch(i, team);
  } else {
    return detail::nothing_read{};
  }
}
template <class Fetched, class Operator, class X, class Team>
WHILST_HD auto row_times([[maybe_unused]] const Fetched& fetched, const Operator& A, index_type i, const X& x,
                         const Team& team) {
  if constexpr (requires { A.row(fetched, i, x, team); }) {
    return A.row(fetched, i, x, team);
  } else {
    return A.row(i, x, team);
  }
}

/// Entries of two vectors, and the vectors: an operator that says takes_two_vectors has row(fetched, i, x, team) for
/// such an x, too, and so reads its row once for both products.
template <class T>
struct two {
  T first, second;
  WHILST_HD two& operator+=(const two& other) {
    first += other.first;
    second += other.second;
    return *this;
  }
  WHILST_HD friend two operator*(T factor, const two& value) { return {factor * value.first, factor * value.second}; }
};
template <class T>
struct two_vectors {
  const T *first, *second;
  WHILST_HD two<T> operator[](index_type i) const { return {first[i], second[i]}; }
};
template <class Fetched, class Operator, class T, class Team>
WHILST_HD two<T> row_times(const Fetched& fetched, const Operator& A, index_type i, const two_vectors<T>& x,
                           const Team& team) {
  if constexpr (requires { requires Operator::takes_two_vectors; }) {
    return A.row(fetched, i, x, team);
  } else {
    return {row_times(fetched, A, i, x.first, team), row_times(fetched, A, i, x.second, team)};
  }
}

/// Records what an operator needs to run before a step applies it to x, and returns the operator with rows for that
/// step.
template <class Run, class Operator, class T>
WHILST_HD auto rows_for([[maybe_unused]] Run& run, const Operator& A, [[maybe_unused]] const T& x) {
  if constexpr (requires { A.before_apply(run, x); }) {
    constexpr bool gives_rows = !std::is_void_v<decltype(A.before_apply(run, x))>;
    static_assert(gives_rows,
                  "an operator's `before_apply` returns the operator that has row(i, x, team), for the x passed");
    if constexpr (gives_rows) {
      return A.before_apply(run, x);
    } else {
      return A;
    }
  } else {
    return A;
  }
}

/// Whether the ranks of a group may exchange two vectors at once for it: see distributed_operator.
template <class Operator>
inline constexpr bool exchanges_two = requires {
  requires Operator::exchanges_two;
};

/// False for an operator that is applied to whole vectors.
template <class Operator>
inline constexpr bool has_rows = !requires {
  requires Operator::applied_whole;
};

/// An operator may declare with bytes() what a product reads of it, not counting x and A x: the steps that apply it can
/// then tell a profile what they move.
template <class Operator>
concept says_bytes = requires(const Operator& A) {
  A.bytes();
};

/// Whether an operator's diagonal(i) is its real diagonal, not a placeholder.
template <class Operator>
WHILST_HD bool knows_diagonal([[maybe_unused]] const Operator& A) {
  if constexpr (requires { A.knows_diagonal(); }) {
    return A.knows_diagonal();
  } else {
    return true;
  }
}

/// How many rows an operator has on all ranks of a group together.
template <class Operator>
WHILST_HD index_type rows_of_all(const Operator& A) {
  if constexpr (requires { A.global_rows(); }) {
    return A.global_rows();
  } else {
    return A.rows();
  }
}

/// A times a factor, read from memory at the time of the product, after the previous step has ended.
template <class T, class Operator>
struct scaled_operator {
  static constexpr bool fetches_constants = detail::fetches_only_constants<Operator>();
  static constexpr bool applied_whole = !has_rows<Operator>;
  Operator unscaled;
  const double* factor;

  WHILST_HD index_type rows() const { return unscaled.rows(); }
  WHILST_HD int lanes_wanted() const { return unscaled.lanes_wanted(); }
  index_type bytes() const requires says_bytes<Operator> { return unscaled.bytes(); }
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return fetch_row(unscaled, i, team);
  }
  template <class Fetched, class X, class Team>
  WHILST_HD T row(const Fetched& fetched, index_type i, const X& x, const Team& team) const {
    return times_factor(row_times(fetched, unscaled, i, x, team));
  }
  template <class Team>
  WHILST_HD T row(index_type i, const T* x, const Team& team) const {
    return times_factor(unscaled.row(i, x, team));
  }
  WHILST_HD bool knows_diagonal() const { return whilst::knows_diagonal(unscaled); }
  WHILST_HD T diagonal(index_type i) const requires requires { unscaled.diagonal(i); }
  { return times_factor(unscaled.diagonal(i)); }
  template <class Run>
  WHILST_HD auto before_apply(Run& run, const T* x) const requires requires {
    unscaled.before_apply(run, x);
  }
  {
    const auto rows = rows_for(run, unscaled, x);
    return scaled_operator<T, std::remove_const_t<decltype(rows)>>{rows, factor};
  }
  /// For an operator that has its transpose, and so may be rectangular.
  WHILST_HD auto transposed() const requires requires { unscaled.transposed(); }
  { return scaled_operator<T, decltype(unscaled.transposed())>{unscaled.transposed(), factor}; }

 private:
  WHILST_HD T times_factor(T value) const { return static_cast<T>(*factor * static_cast<double>(value)); }
};

/// The entries of a diagonal matrix, in double; null for ones. Beside it a permutation: entry i of the permuted vector
/// is entry from(i); null for none.
template <class T>
struct diagonal_factors {
  const T* each = nullptr;
  const std::int32_t* sources = nullptr;
  WHILST_HD double operator()(index_type i) const { return each ? static_cast<double>(each[i]) : 1; }
  WHILST_HD index_type from(index_type i) const { return sources ? sources[i] : i; }
};
/// Those of an operator that methods iterate with as it is.
struct no_factors {
  WHILST_HD constexpr double operator()(index_type) const { return 1; }
  WHILST_HD constexpr index_type from(index_type i) const { return i; }
};

/// For a method that puts in the factor of a scaled operator itself, where it costs less than in each row: the operator
/// without it, and the factor's address, null for an operator that has none.
template <class Operator>
WHILST_HD const auto& without_factor(const Operator& A) {
  if constexpr (requires { A.unscaled; }) {
    return A.unscaled;
  } else {
    return A;
  }
}
template <class Operator>
WHILST_HD const double* factor_of([[maybe_unused]] const Operator& A) {
  if constexpr (requires { A.unscaled; }) {
    return A.factor;
  } else {
    return nullptr;
  }
}

/// Row entries that a lane holds at once: enough for the usual stencils with one lane.
inline constexpr int entries_held = 7;

/// False for an operator that declares runs_in_kernel = false because it needs calls.
template <class Operator>
inline constexpr bool operator_runs_in_kernel = !requires {
  requires !Operator::runs_in_kernel;
};

/// A sparse matrix in compressed sparse row form; the values are bound at launch. Offset is a 32- or 64-bit integer
/// that can count a few hundred beyond the nonzeros: see offsets_suffice_32.
template <class T, class Offset, class Values = slot<const T>>
struct csr_operator {
  static constexpr bool fetches_constants = requires { requires Values::constant; };
  static constexpr bool takes_two_vectors = true, takes_spread_vectors = true;
  index_type n;
  const Offset* row_offsets;
  const std::int32_t* column_indices;
  Values values;
  int lanes_a_row;
  index_type nonzeros = 0;  ///< for bytes() only

  WHILST_HD index_type rows() const { return n; }
  index_type bytes() const {
    return nonzeros * static_cast<index_type>(sizeof(T) + sizeof(std::int32_t)) +
           (n + 1) * static_cast<index_type>(sizeof(Offset));
  }
  WHILST_HD int lanes_wanted() const { return lanes_a_row; }
  /// The first entries of a row in registers, so that all their reads are in flight at once.
  struct entries {
    static constexpr int held = on_device ? entries_held : 1;
    std::int32_t column[held];
    T value[held];
    Offset next, end;
  };
  template <class Team>
  WHILST_HD entries fetch(index_type i, const Team& team) const {
    entries e;
    const Offset begin = read_in_order(row_offsets + i);
    e.end = read_in_order(row_offsets + i + 1);
    e.next = begin + static_cast<Offset>(team.rank());
    load(e, team);
    return e;
  }
  /// x: an address, or whatever gives its entries by [], or those of two vectors.
  template <class X, class Team>
  WHILST_HD auto row(entries e, index_type, const X& x, const Team& team) const {
    const auto sum = lane_of_row(e, x, team);
    if constexpr (std::is_same_v<std::remove_const_t<decltype(sum)>, two<T>>) {
      return two<T>{team.sum(sum.first), team.sum(sum.second)};
    } else {
      const T of_row = team.sum(sum);
      return of_row;
    }
  }
  template <class Team>
  WHILST_HD T row(index_type i, const T* x, const Team& team) const {
    return row(fetch(i, team), i, x, team);
  }
  /// The row times several vectors, by one thread: x[j] gives their entries j, in a type that can be added and
  /// multiplied by a T.
  template <class X>
  WHILST_HD auto row_of_several(index_type i, const X& x) const {
    const lanes alone;
    entries e = fetch(i, alone);
    return lane_of_row(e, x, alone);
  }

  /// The matrix of problem k, if the values of many problems with this pattern are stored consecutively.
  WHILST_HD csr_operator of_problem(index_type k) const {
    csr_operator result = *this;
    result.values = values.shifted(k * static_cast<index_type>(row_offsets[n]));
    return result;
  }
  /// The diagonal entry, duplicates added; 0 if there is none.
  WHILST_HD T diagonal(index_type i) const {
    const T* const v = values.get();
    T sum = 0;
    for (Offset k = row_offsets[i]; k < row_offsets[i + 1]; ++k)
      if (column_indices[k] == i) sum += v[k];
    return sum;
  }

 protected:
  template <class Team>
  WHILST_HD void load(entries& e, const Team& team) const {
    const std::int32_t* columns = column_indices + e.next;
    const T* v = values.get() + e.next;
#if defined(__CUDA_ARCH__)
    // Short offsets from two base addresses: half the instructions per entry. The compiler would recompute full
    // addresses.
    asm("" : "+l"(columns), "+l"(v));
#endif
    constexpr Offset more_than_held = 1 << 20;
    const Offset far = e.end - e.next;
    const int left = static_cast<int>(sizeof(Offset) == 4 || far < more_than_held ? far : more_than_held);
    // The values first: where registers are scarce, ptxas waits for columns before it issues what follows.
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < entries::held; ++j) {
      const int k = j * team.size();
      e.value[j] = k < left ? read_constant(v + k) : T(0);
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < entries::held; ++j) {
      const int k = j * team.size();
      e.column[j] = k < left ? read_constant(columns + k) : -1;
    }
    e.next += static_cast<Offset>(entries::held * team.size());
  }
  /// A lane's share of the row's sum.
  template <class X, class Team>
  WHILST_HD auto lane_of_row(entries& e, const X& x, const Team& team) const {
    auto sum = times(e, x);
    while (e.next < e.end) {
      load(e, team);
      sum += times(e, x);
    }
    return sum;
  }
  /// Entries beyond the row's end are skipped, not multiplied by zero: x may hold NaN.
  template <class X>
  WHILST_HD static auto times(const entries& e, const X& x) {
    using entry = std::remove_cvref_t<decltype(x[0])>;
    entry factor[entries::held], sum{};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < entries::held; ++j) {
      if constexpr (requires { x.entry_or_zero(e.column[j]); }) {
        factor[j] = x.entry_or_zero(e.column[j]);
      } else {
        factor[j] = e.column[j] >= 0 ? x[e.column[j]] : entry{};
      }
    }
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < entries::held; ++j) sum += e.value[j] * factor[j];
    return sum;
  }
};

/// Whether 32-bit offsets suffice for a matrix: a row is read in pieces of up to 256 entries, whose end is counted too.
inline bool offsets_suffice_32(index_type nonzeros) { return nonzeros <= 2147483647 - 256; }

/// Lanes per row for a matrix with this average number of entries per row: the fewest that read a row in one piece.
inline int lanes_for_row(double entries_a_row) {
  int lanes = 1;
  while (lanes < 32 && entries_held * lanes < entries_a_row) lanes *= 2;
  return lanes;
}

/// The 5-point Laplacian on an nx x ny grid of interior points with zero boundary values, unscaled: 4 on the diagonal,
/// -1 beside it. No matrix in memory.
template <class T>
struct poisson_2d_operator {
  index_type nx, ny;

  WHILST_HD index_type rows() const { return nx * ny; }
  index_type bytes() const { return 0; }
  WHILST_HD int lanes_wanted() const { return 1; }
  template <class Team>
  WHILST_HD T row(index_type i, const T* x, const Team&) const {
    const index_type column = i % nx, line = i / nx;
    T sum = 4 * x[i];
    if (line > 0) sum -= x[i - nx];
    if (column > 0) sum -= x[i - 1];
    if (column < nx - 1) sum -= x[i + 1];
    if (line < ny - 1) sum -= x[i + nx];
    return sum;
  }
  WHILST_HD T diagonal(index_type) const { return 4; }
};

/// The 7-point Laplacian on an nx x ny x nz grid, likewise.
template <class T>
struct poisson_3d_operator {
  index_type nx, ny, nz;

  WHILST_HD index_type rows() const { return nx * ny * nz; }
  index_type bytes() const { return 0; }
  WHILST_HD int lanes_wanted() const { return 1; }
  template <class Team>
  WHILST_HD T row(index_type i, const T* x, const Team&) const {
    const index_type column = i % nx, line = i / nx % ny, plane = i / (nx * ny);
    T sum = 6 * x[i];
    if (plane > 0) sum -= x[i - nx * ny];
    if (line > 0) sum -= x[i - nx];
    if (column > 0) sum -= x[i - 1];
    if (column < nx - 1) sum -= x[i + 1];
    if (line < ny - 1) sum -= x[i + nx];
    if (plane < nz - 1) sum -= x[i + nx * ny];
    return sum;
  }
  WHILST_HD T diagonal(index_type) const { return 6; }
};

}  // namespace whilst
