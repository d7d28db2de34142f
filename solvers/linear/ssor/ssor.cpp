// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/ssor/ssor.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/colouring/row_colours.hpp"
#include "solvers/linear/multigrid/cycles/interleaved_product.hpp"
#include "solvers/linear/multigrid/patterns/transposed_pattern.hpp"
#include "solvers/linear/ssor/ssor_steps.hpp"

namespace whilst {
namespace ssor {
namespace {

constexpr std::string_view making_ssor = "making preconditioner ssor";

using multigrid::interleaved_product, multigrid::interleaved_rows, multigrid::level_memory, multigrid::pattern_view;

/// Where the entries of colours begin.
struct tell_begins {
  const std::int32_t *offsets, *first_rows;
  std::int32_t* told;
  WHILST_HD void operator()(index_type c) const { told[c] = offsets[first_rows[c]]; }
};

template <class T>
class symmetric_sweeps final : public matrix_preconditioner<T> {
 public:
  symmetric_sweeps(const solve_request<T>& matrix, bool symmetric, const ssor_options& options)
      : where_(matrix.where),
        A_{matrix.rows, matrix.columns, matrix.nonzeros, static_cast<const std::int32_t*>(matrix.row_offsets),
           matrix.column_indices},
        options_(options),
        of_rows_(matrix.where, static_cast<std::size_t>(matrix.rows * (20 + sizeof(T) + symmetric) + 6 * 256)),
        of_entries_(matrix.where, 0) {
    level_memory scratch(where_, static_cast<std::size_t>(matrix.nonzeros * 32 + matrix.rows * 32 + 8192));
    colours_ = colouring::colour_rows(making_ssor, "Use another preconditioner, as jacobi or block_jacobi", where_, A_,
                                      of_rows_, scratch);
    scratch.reuse();
    make_parts(scratch);
    inverse_diagonal_ = of_rows_.take<T>(A_.rows).data();
    if (symmetric) is_negative_ = of_rows_.take<bool>(A_.rows).data();
  }

  void read_values_from(constant_slot<const T> values) override { values_ = values; }
  void take_memory(index_type n, workspace& memory) override {
    if (colours_.count() > 2) other_half_ = memory.take<T>(n);
  }
  bool made_from_operator() const override { return true; }
  /// What sweeps fetch early comes before their first colour, which has no entries in earlier ones, and so fetches
  /// none.
  void prepare_by_itself(recorder& run, const double* factor) const override {
    run.step("the diagonal by colours", A_.rows,
             invert_diagonal_by_colours<T>{values_, factor, offsets_ + of_diagonal * A_.rows, sources_, colours_.rows,
                                           inverse_diagonal_, is_negative_});
    run.step("values by colours", entries_,
             copy_values<T>{values_, factor, sources_, columns_, in_order_, A_, is_negative_});
  }
  void apply(recorder& run, const T* r, T* z) const override {
    const int last = colours_.count() - 1;
    if (last < 0) return;
    visit(run, r, z, 0, forward, {.is_first_sweep = true, .times = last == 0 ? 2 * options_.sweeps : 1});
    if (last == 0) return;
    for (int sweep = 0; sweep < options_.sweeps; ++sweep) {
      const bool is_first = sweep == 0, is_last = sweep + 1 == options_.sweeps;
      for (int c = 1; c <= last; ++c)
        visit(run, r, z, c, forward, {.is_first_sweep = is_first, .times = c == last ? 2 : 1});
      for (int c = last - 1; c >= 0; --c)
        visit(run, r, z, c, backward, {.is_last_sweep = is_last, .times = c == 0 && !is_last ? 2 : 1});
    }
  }

  index_type bytes() const override { return of_rows_.bytes() + of_entries_.bytes(); }
  std::string description() const override {
    const int count = colours_.count();
    char text[96];
    std::snprintf(text, sizeof text, "%d %s, omega %.4g, %d %s", count, count == 1 ? "colour" : "colours",
                  options_.omega, options_.sweeps, options_.sweeps == 1 ? "sweep" : "sweeps");
    return text;
  }

 private:
  enum direction { forward, backward };
  struct visit_of_colour {
    bool is_first_sweep = false, is_last_sweep = false;  ///< in that direction
    int times = 1;
  };

  /// Forward, a colour adds up what earlier colours have become; backward, what later ones have.
  void visit(recorder& run, const T* r, T* z, int c, direction to, const visit_of_colour& how) const {
    const interleaved_rows<T>& half = halves_[static_cast<std::size_t>(to == forward ? c : colours_.count() + c)];
    const std::int32_t first = colours_.begin_of(c);
    const bool has_both = c > 0 && c + 1 < colours_.count();
    const relax_row<T> put{colours_.first_row_of(c),
                           inverse_diagonal_ + first,
                           r,
                           z,
                           has_both && other_half_ ? other_half_ + first : nullptr,
                           !how.is_first_sweep,
                           !how.is_last_sweep,
                           how.is_first_sweep,
                           how.times,
                           static_cast<T>(options_.omega)};
    run.step(to == forward ? "a colour, forward" : "a colour, backward",
             where_.on_host() ? half.pattern.rows : half.warps(),
             interleaved_product<T, const T*, relax_row<T>>{half, z, put});
  }

  void make_parts(level_memory& scratch) {
    const index_type n = A_.rows, nonzeros = A_.nonzeros;
    std::int32_t *const position = scratch.take<std::int32_t>(n).data(),
                        *const numbers = scratch.take<std::int32_t>(nonzeros + 1).data(),
                        *const row_of_parts = scratch.take<std::int32_t>(nonzeros).data();
    program_recorder dividing(where_);
    dividing.step("positions of rows", n, put_positions{colours_.rows, position});
    dividing.step("parts of entries", nonzeros + 1, choose_parts{A_, colours_.colour, position, numbers, row_of_parts});
    const multigrid::transposed_pattern parts =
        record_transpose(dividing, {nonzeros, 3 * n, nonzeros, numbers, row_of_parts}, scratch, scratch);
    offsets_ = of_rows_.take<std::int32_t>(3 * n + 1).data();
    dividing.step("offsets of parts", 3 * n + 1, copy_offsets{parts.view.offsets, offsets_});
    // The first row of each colour's halves, and the first on the diagonal.
    std::vector<std::int32_t> first_rows;
    for (const part half : {of_earlier, of_later})
      for (int c = 0; c < colours_.count(); ++c)
        first_rows.push_back(static_cast<std::int32_t>(half * n) + colours_.begin_of(c));
    first_rows.push_back(static_cast<std::int32_t>(of_diagonal * n));
    const auto begins = static_cast<index_type>(first_rows.size());
    const buffer<std::int32_t> of_colours(where_, begins, first_rows.data()), told(where_, begins);
    dividing.step("where colours begin", begins, tell_begins{offsets_, of_colours.data(), told.data()});
    run_now(std::move(dividing).finish(), where_);
    std::vector<std::int32_t> entries(first_rows.size());
    told.download(entries.data());

    entries_ = entries.back();
    in_order_ = of_entries_.take<T>(entries_).data();
    sources_ = of_entries_.take<std::int32_t>(nonzeros).data();
    columns_ = of_entries_.take<std::int32_t>(entries_).data();
    std::int32_t* const columns = where_.on_host() ? columns_ : scratch.take<std::int32_t>(entries_).data();
    program_recorder putting(where_);
    putting.step("entries by parts", nonzeros, put_sources{parts.sources, A_.indices, entries_, sources_, columns});
    for (std::size_t h = 0; h + 1 < first_rows.size(); ++h) {
      const pattern_view pattern{first_rows[h + 1] - first_rows[h], n, entries[h + 1] - entries[h],
                                 offsets_ + first_rows[h], columns};
      interleaved_rows<T> half{pattern, in_order_};
      const int lanes = colours_.lanes_of(static_cast<int>(h) % colours_.count(), pattern.lanes(24));
      while (1 << half.log_lanes < lanes) ++half.log_lanes;
      if (!where_.on_host()) {
        interleaved_rows<T> of_sources = half;
        of_sources.pattern.indices = parts.sources;
        of_sources.columns = sources_;
        of_sources.record_columns(putting);
        half.columns = columns_;
        half.values = in_order_;
        half.record_columns(putting);
      }
      halves_.push_back(half);
    }
    run_now(std::move(putting).finish(), where_);
  }

  place where_;
  pattern_view A_;
  ssor_options options_;
  level_memory of_rows_, of_entries_;
  colouring::row_colours colours_;
  std::vector<interleaved_rows<T>> halves_;  ///< of each colour the entries in earlier ones, then those in later ones
  std::int32_t entries_ = 0;                 ///< of all of these
  std::int32_t* offsets_ = nullptr;          ///< of entries by parts
  /// Which entry of A each is, and its column, in the order in which sweeps read them; then those on the diagonal.
  std::int32_t *sources_ = nullptr, *columns_ = nullptr;
  T *in_order_ = nullptr, *inverse_diagonal_ = nullptr;
  bool* is_negative_ = nullptr;  ///< the diagonal of each row; null for methods that take any M
  T* other_half_ = nullptr;
  constant_slot<const T> values_;
};

}  // namespace
}  // namespace ssor

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_ssor(const solve_request<T>& matrix, bool symmetric,
                                                    const ssor_options& options) {
  using ssor::making_ssor;
  constexpr index_type most_rows = index_type{1} << 29;  // a row has three parts
  if (matrix.offsets_64 || matrix.rows >= most_rows)
    throw error(making_ssor,
                "the matrix has " + std::to_string(matrix.rows) + " rows and " + std::to_string(matrix.nonzeros) +
                    " nonzeros, more than 32 bits count",
                "Use preconditioner jacobi");
  return std::make_unique<ssor::symmetric_sweeps<T>>(matrix, symmetric, options);
}
template std::unique_ptr<matrix_preconditioner<WHILST_NUMBER>> make_ssor(const solve_request<WHILST_NUMBER>&, bool,
                                                                         const ssor_options&);

}  // namespace whilst
