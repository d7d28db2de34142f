// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/approximate_inverse/approximate_inverse.hpp"

#include <cstdio>
#include <string_view>
#include <utility>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/approximate_inverse/local_systems.hpp"
#include "solvers/linear/approximate_inverse/nearest_columns.hpp"
#include "solvers/linear/multigrid/cycles/interleaved_in_memory.hpp"
#include "solvers/linear/multigrid/cycles/interleaved_product.hpp"
#include "solvers/linear/multigrid/patterns/offsets_from_counts.hpp"
#include "solvers/linear/multigrid/strength.hpp"
#include "solvers/linear/values_watch.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {
namespace approximate_inverse {
namespace {

constexpr std::string_view making = "making a sparse approximate inverse";

using multigrid::interleaved_rows, multigrid::level_memory, multigrid::matrix_view, multigrid::pattern_view;

template <class T>
pattern_view pattern_of(const solve_request<T>& matrix) {
  return {matrix.rows, matrix.columns, matrix.nonzeros, static_cast<const std::int32_t*>(matrix.row_offsets),
          matrix.column_indices};
}

/// What the host waits for between the programs of a set-up.
struct sizes_told {
  std::int64_t rows_beyond_8, rows_beyond_16, entries;
};
struct tell_sizes {
  sizes_told* told;
  WHILST_HD void operator()(const sums<std::int64_t, 3>& found) const { *told = {found[0], found[1], found[2]}; }
};

/// M = G'G is positive definite. Of a negative definite A, which has a negative diagonal, -A is factorized: its scale
/// becomes negative.
template <class T>
struct add_diagonal {
  ordered_matrix<T> A;
  WHILST_HD auto operator()(index_type i) const { return sums{A.entry(i, static_cast<std::int32_t>(i))}; }
};
struct choose_sign {
  watched_values* of;
  WHILST_HD void operator()(const sums<double, 1>& trace) const {
    if (trace[0] < 0) of->scale = -of->scale;
  }
};
template <class T>
struct put_ordered_values {
  ordered_matrix<T> A;
  double* values;
  WHILST_HD void operator()(index_type e) const { values[e] = A.value(static_cast<std::int32_t>(e)); }
};
template <class C>
struct transpose_values {
  const std::int32_t* sources;
  const C* values;
  C* transposed;
  WHILST_HD void operator()(index_type e) const { transposed[e] = values[sources[e]]; }
};

template <class T, class C>
class sparse_inverse final : public matrix_preconditioner<T> {
 public:
  sparse_inverse(const solve_request<T>& matrix, approximate_inverse_kind kind, const fsai_options& options)
      : where_(matrix.where),
        is_factor_(kind == approximate_inverse_kind::fsai),
        options_(options),
        watch_(matrix),
        kept_(matrix.where, static_cast<std::size_t>(matrix.nonzeros * 24 + matrix.rows * 16 + 4096)) {
    const index_type of_scratch = matrix.nonzeros * (is_factor_ ? 8 : 24) + matrix.rows * 16 + 4096;
    level_memory scratch(where_, static_cast<std::size_t>(of_scratch));
    A_ = in_order(where_, pattern_of(matrix), kept_, scratch);
    make_pattern(scratch);
    scratch.reuse();
    program_recorder run(where_);
    take_values(run, scratch);
    record_values(run, watch_.first());
    watch_.record_first(run);
    run_now(std::move(run).finish(), where_);
  }

  void read_values_from(constant_slot<const T> values) override { values_ = values; }
  void take_memory(index_type n, workspace& memory) override {
    if (is_factor_) y_ = memory.take<T>(n);
  }
  bool made_from_operator() const override { return true; }
  void prepare_by_itself(recorder& run, const double* factor) const override {
    watch_.record_watch(run, values_, factor, [&](recorder& inner) {
      record_scale(inner, values_);
      record_values(inner, values_);
    });
  }
  void apply(recorder& run, const T* r, T* z) const override {
    if (is_factor_) {
      record_product(run, "y = G r", rows_, r, y_, nullptr);
      record_product(run, "z = G'y", columns_, static_cast<const T*>(y_), z, watch_.factor());
    } else {
      record_product(run, "z = M r", rows_, r, z, watch_.factor());
    }
  }

  index_type bytes() const override { return kept_.bytes() + watch_.bytes(); }
  std::string description() const override {
    char text[96];
    std::snprintf(text, sizeof text, "%.1f entries a row of %s, power %d", rows_.pattern.average(),
                  is_factor_ ? "G" : "M", options_.power);
    return text;
  }

 private:
  ordered_matrix<T> matrix(constant_slot<const T> values) const { return {A_, values, watch_.scale()}; }
  void record_scale(recorder& run, constant_slot<const T> values) const {
    watch_.record_scale(run, values);
    if (is_factor_)
      run.step("the sign of the diagonal", A_.pattern.rows, add_diagonal<T>{matrix(values)},
               choose_sign{watch_.kept()});
  }

  /// Of G, or of M.
  void make_pattern(level_memory& scratch) {
    const index_type n = A_.pattern.rows;
    const int lanes = A_.pattern.lanes(4);
    const buffer<sizes_told> told(where_, 1);
    program_recorder counting(where_);
    record_scale(counting, watch_.first());
    double *const values = scratch.take<double>(A_.pattern.nonzeros).data(), *const largest =
                                                                                 scratch.take<double>(n).data();
    counting.step("A in order", A_.pattern.nonzeros, put_ordered_values<T>{matrix(watch_.first()), values});
    const matrix_view<double> A{A_.pattern, values};
    counting.step("the largest neighbour", n, multigrid::largest_beside_diagonal<double>{A, largest, lanes});
    strong_edges graph{A, {}, largest, options_.drop};
    if (!is_factor_) graph.transposed = record_transpose(counting, A_.pattern, scratch, scratch);
    const row_order order = is_factor_ ? record_order(counting, options_.order, graph, scratch) : row_order{};
    const nearest_columns columns{graph, options_.power, options_.most, is_factor_, order};
    std::int32_t *const counts = scratch.take<std::int32_t>(n).data(), *const offsets =
                                                                           kept_.take<std::int32_t>(n + 1).data();
    counting.step("count a row's nearest columns", n, count_nearest{columns, counts}, tell_sizes{told.data()});
    multigrid::record_offsets(counting, n, counts, offsets, scratch);
    run_now(std::move(counting).finish(), where_);
    sizes_told sizes{};
    told.download(&sizes);

    if (!offsets_suffice_32(sizes.entries))
      throw error(making, "it would have " + std::to_string(sizes.entries) + " entries, more than 32 bits count",
                  "Set a smaller most or a larger drop");
    most_of_a_row_ = sizes.rows_beyond_16 > 0 ? 32 : sizes.rows_beyond_8 > 0 ? 16 : 8;
    std::int32_t* const indices = kept_.take<std::int32_t>(sizes.entries).data();
    program_recorder putting(where_);
    putting.step("put a row's nearest columns", n, put_nearest{columns, offsets, indices});
    run_now(std::move(putting).finish(), where_);
    rows_.pattern = {n, n, sizes.entries, offsets, indices};
  }

  /// Memory for the values, and the transpose of G.
  void take_values(recorder& run, level_memory& scratch) {
    csr_values_ = kept_.take<C>(rows_.pattern.nonzeros).data();
    put_interleaved(run, rows_, csr_values_);
    if (!is_factor_) return;
    const multigrid::transposed_pattern transposed = record_transpose(run, rows_.pattern, kept_, scratch);
    sources_ = transposed.sources;
    columns_.pattern = transposed.view;
    transposed_values_ = kept_.take<C>(rows_.pattern.nonzeros).data();
    put_interleaved(run, columns_, transposed_values_);
  }
  void put_interleaved(recorder& run, interleaved_rows<C>& into, const C* csr_values) {
    into = multigrid::interleaved_in_memory(run, kept_, into.pattern, csr_values, options_.precision == "bfloat16");
  }

  /// How values follow from those of A, on patterns that stay.
  void record_values(recorder& run, constant_slot<const T> values) const {
    if (most_of_a_row_ == 8) {
      record_rows<8>(run, values);
    } else if (most_of_a_row_ == 16) {
      record_rows<16>(run, values);
    } else {
      record_rows<32>(run, values);
    }
    if (is_factor_)
      run.step("G'", rows_.pattern.nonzeros, transpose_values<C>{sources_, csr_values_, transposed_values_});
    if (where_.on_host()) return;
    rows_.record_values(run);
    if (is_factor_) columns_.record_values(run);
  }
  template <int most>
  void record_rows(recorder& run, constant_slot<const T> values) const {
    const index_type n = A_.pattern.rows;
    if (is_factor_) {
      run.step("rows of G", n, factor_rows<T, C, most>{matrix(values), rows_.pattern, csr_values_});
    } else {
      run.step("rows of M", n, inverse_rows<T, C, most>{matrix(values), rows_.pattern, csr_values_});
    }
  }
  void record_product(recorder& run, const char* name, const interleaved_rows<C>& A, const T* x, T* y,
                      const double* factor) const {
    run.step(name, where_.on_host() ? A.pattern.rows : A.warps(),
             multigrid::interleaved_product<C, const T*, multigrid::put_scaled<T>>{A, x, {y, factor}});
  }

  place where_;
  bool is_factor_;
  fsai_options options_;
  values_watch<T> watch_;
  level_memory kept_;
  rows_in_order A_;
  constant_slot<const T> values_;
  interleaved_rows<C> rows_, columns_;  ///< G and G', or M
  int most_of_a_row_ = 8;
  C *csr_values_ = nullptr, *transposed_values_ = nullptr;
  const std::int32_t* sources_ = nullptr;  ///< which entry of G each of G' is
  T* y_ = nullptr;
};

}  // namespace
}  // namespace approximate_inverse

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_approximate_inverse(const solve_request<T>& matrix,
                                                                   approximate_inverse_kind kind,
                                                                   const fsai_options& options) {
  using approximate_inverse::making, approximate_inverse::sparse_inverse;
  if (matrix.offsets_64)
    throw error(making, "the matrix has " + std::to_string(matrix.nonzeros) + " nonzeros, more than 32 bits count",
                "Use preconditioner jacobi");
  if constexpr (std::is_same_v<T, double>)
    if (options.precision == "double") return std::make_unique<sparse_inverse<T, double>>(matrix, kind, options);
  return std::make_unique<sparse_inverse<T, float>>(matrix, kind, options);
}
template std::unique_ptr<matrix_preconditioner<WHILST_NUMBER>> make_approximate_inverse(
    const solve_request<WHILST_NUMBER>&, approximate_inverse_kind, const fsai_options&);

}  // namespace whilst
