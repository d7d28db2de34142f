// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/multigrid/amg.hpp"

#include <cstdio>
#include <limits>
#include <string_view>
#include <utility>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/multigrid/cycles/cycle.hpp"
#include "solvers/linear/multigrid/cycles/cycle_of_columns.hpp"
#include "solvers/linear/multigrid/cycles/deeper_cycle.hpp"
#include "solvers/linear/multigrid/level_table.hpp"
#include "solvers/linear/values_watch.hpp"

namespace whilst {
namespace {

using multigrid::cycle_vectors, multigrid::deeper_cycle_vectors, multigrid::hierarchy, multigrid::pattern_view,
    multigrid::record_cycle, multigrid::record_cycle_of_columns, multigrid::record_deeper_cycle,
    multigrid::steps_of_deeper_cycle, multigrid::tile_vectors;

template <class T, class C>
struct scale_finest {
  constant_slot<const T> values;
  const double* scale;
  C* scaled;
  WHILST_HD void operator()(index_type k) const {
    scaled[k] = static_cast<C>(*scale * static_cast<double>(values.get()[k]));
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(C)); }
};

template <class T, class C>
class amg final : public matrix_preconditioner<T> {
 public:
  amg(const solve_request<T>& matrix, bool symmetric, const amg_options& options, bool may_go_on)
      : where_(matrix.where),
        nonzeros_(matrix.nonzeros),
        watch_(matrix, options.refresh == "lagged" ? options.refresh_growth : 0),
        levels_(
            matrix.where,
            {matrix.rows, matrix.columns, matrix.nonzeros, static_cast<const std::int32_t*>(matrix.row_offsets),
             matrix.column_indices},
            symmetric, static_cast<double>(std::numeric_limits<T>::epsilon()), options,
            [&](recorder& run, auto* finest) {
              record_finest(run, watch_.first(), finest);
              watch_.record_first(run);
            },
            may_go_on),
        values_(watch_.first()) {}

  void finish() override { levels_.finish(); }
  void* room_for(std::size_t bytes) override { return levels_.room_for(bytes); }
  void read_values_from(constant_slot<const T> values) override { values_ = values; }
  void take_memory(index_type, workspace& memory) override {
    if (levels_.plan().is_plain()) {
      vectors_.take_memory(levels_, std::is_same_v<T, C>, memory);
    } else {
      deeper_vectors_.take_memory(levels_, memory);
    }
  }
  bool made_from_operator() const override { return true; }
  /// The hierarchy is made anew where a value has changed, on the device: nobody has to say so.
  void prepare_by_itself(recorder& run, const double* factor) const override {
    watch_.record_watch(run, values_, factor, [&](recorder& inner) {
      levels_.with_given_values([&](auto* finest) { record_finest(inner, values_, finest); });
      levels_.record_values(inner);
    });
  }
  void begin_sequence(recorder& run) const override { watch_.record_beginning(run); }
  void begin_sequence_now() override {
    program_recorder run(where_);
    begin_sequence(run);
    run_now(std::move(run).finish(), where_);
  }
  void note_solve(recorder& run, const control* loop, const double* first_norm) const override {
    watch_.record_note(run, loop, first_norm);
  }
  const index_type* refreshes() const override { return watch_.refreshes(); }
  void apply(recorder& run, const T* r, T* z) const override {
    const double* const factor = watch_.factor();
    if (levels_.plan().is_plain()) {
      record_cycle(run, levels_, vectors_, r, z, factor);
    } else {
      record_deeper_cycle(run, levels_, deeper_vectors_, r, z, factor);
    }
  }

  float* rounded_residual() const override {
    if constexpr (std::is_same_v<C, float>) {
      if (!levels_.plan().is_plain()) return deeper_vectors_[0].right;
      if (!std::is_same_v<T, float>) return vectors_.residual(0);
    }
    return nullptr;
  }
  void apply_to_rounded(recorder& run, T* z) const override {
    const double* const factor = watch_.factor();
    if (levels_.plan().is_plain()) {
      record_cycle(run, levels_, vectors_, z, factor);
    } else {
      record_deeper_cycle(run, levels_, deeper_vectors_, z, factor);
    }
  }

  /// A plain cycle has steps for all columns.
  void take_memory_for_columns(index_type n, index_type columns, workspace& memory) override {
    if (levels_.plan().is_plain() && columns > 1) {
      tiles_.take_memory(levels_, columns, memory);
    } else {
      take_memory(n, memory);
    }
  }
  void apply_to_columns(recorder& run, index_type n, index_type columns, const T* R, T* Z) const override {
    if (levels_.plan().is_plain() && columns > 1) {
      record_cycle_of_columns(run, levels_, tiles_, columns, R, Z, watch_.factor());
    } else {
      matrix_preconditioner<T>::apply_to_columns(run, n, columns, R, Z);
    }
  }

  index_type bytes() const override { return levels_.bytes() + watch_.bytes(); }
  std::string description() const override {
    const multigrid::cycle_plan& plan = levels_.plan();
    std::string words = levels_.description();
    if (!plan.words.empty()) words += "; " + plan.words;
    if (!plan.is_plain()) words += ", " + std::to_string(steps()) + " steps";
    if (plan.revisited > 0) words += "; level " + std::to_string(plan.revisited) + " is visited twice";
    return words;
  }
  std::string explain() const override {
    const multigrid::cycle_plan& plan = levels_.plan();
    const multigrid::complexities<C> complexity(levels_);
    char numbers[160];
    std::snprintf(numbers, sizeof numbers, "operator complexity %.2f, grid complexity %.2f, %d steps a cycle, %.1f MiB",
                  complexity.of_operators, complexity.of_grids, steps(), static_cast<double>(bytes()) / (1 << 20));
    return (plan.words.empty() ? "V-cycle" : plan.words) + (", " + std::string(numbers)) + "\n" +
           multigrid::level_table(levels_);
  }

 private:
  /// Of a cycle.
  int steps() const {
    if (!levels_.plan().is_plain()) return steps_of_deeper_cycle(levels_, where_);
    const std::size_t count = levels_.levels().size(), revisited = levels_.plan().revisited;
    const std::size_t again = revisited > 0 ? 2 * (count - revisited) : 0;
    return static_cast<int>(2 * count - 1 + again) + !std::is_same_v<T, C>;
  }
  template <class V>
  void record_finest(recorder& run, constant_slot<const T> values, V* finest) const {
    watch_.record_scale(run, values);
    run.step("the finest values", nonzeros_, scale_finest<T, V>{values, watch_.scale(), finest});
  }

  place where_;
  index_type nonzeros_;
  values_watch<T> watch_;
  hierarchy<C> levels_;
  constant_slot<const T> values_;  ///< those, until told of others
  cycle_vectors<C> vectors_;
  tile_vectors<C> tiles_;
  deeper_cycle_vectors<C> deeper_vectors_;
};

}  // namespace

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_amg(const solve_request<T>& matrix, bool symmetric,
                                                   const amg_options& options, bool may_go_on) {
  constexpr std::string_view making = "making preconditioner amg";
  if (matrix.offsets_64)
    throw error(making, "the matrix has " + std::to_string(matrix.nonzeros) + " nonzeros, more than 32 bits count",
                "Use preconditioner jacobi");
  const std::string_view precision = options.precision;
  if (precision != "auto" && precision != "float" && precision != "double" && precision != "bfloat16")
    throw error(making, "there is no precision called '" + std::string(precision) + "'",
                "Use one of auto, bfloat16, float, double");
  if constexpr (std::is_same_v<T, double>)
    if (precision == "double") return std::make_unique<amg<T, double>>(matrix, symmetric, options, may_go_on);
  return std::make_unique<amg<T, float>>(matrix, symmetric, options, may_go_on);
}
template std::unique_ptr<matrix_preconditioner<WHILST_NUMBER>> make_amg(const solve_request<WHILST_NUMBER>&, bool,
                                                                        const amg_options&, bool);

}  // namespace whilst
