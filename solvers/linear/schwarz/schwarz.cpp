// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/schwarz/schwarz.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "solvers/linear/block_jacobi/block_inverse.hpp"
#include "solvers/linear/block_jacobi/natural_blocks.hpp"
#include "solvers/linear/schwarz/graph_of_matrix.hpp"
#include "whilst/engine/steps/step_frame.hpp"

namespace whilst {
namespace schwarz {
namespace {

using block_jacobi::invert_blocks, block_jacobi::multiply_by_blocks;

/// z, of what the sets that have a row contribute to it.
template <class T>
struct add_up {
  const std::int32_t *offsets, *kept_rows;
  const T* contributions;
  T* z;
  WHILST_HD void operator()(index_type i) const {
    T sum = 0;
    for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k) sum += contributions[kept_rows[k]];
    z[i] = sum;
  }
};

/// The most rows of matrices that the shared memory of a place holds as a team has them, whichever is the largest.
int most_rows_on([[maybe_unused]] place where) {
#if WHILST_WITH_CUDA
  if (where.on_host()) return row_sets::most_rows;
  constexpr index_type left_to_kernel = 2048;
  const auto there = static_cast<index_type>(traits_of_device(where.device()).fast_memory_bytes) - left_to_kernel;
  const auto bytes = [](int rows) {
    const block_jacobi::team_of_blocks of{rows, row_sets::threads};
    return index_type{of.blocks()} * of.numbers_a_block() * static_cast<index_type>(sizeof(double));
  };
  int most = 1;  // upwards: a team has two matrices of 64 rows, but one of 65
  while (most < row_sets::most_rows && bytes(most + 1) <= there) ++most;
  return most;
#else
  return row_sets::most_rows;
#endif
}

template <class T>
subdomains subdomains_of(const solve_request<T>& matrix, const schwarz_options& options) {
  const int nodes_have = matrix.offsets_64 ? block_jacobi::natural_block<std::int64_t>(matrix)
                                           : block_jacobi::natural_block<std::int32_t>(matrix);
  const int most = most_rows_on(matrix.where);
  return grow_subdomains(
      matrix.offsets_64 ? graph_of_matrix<std::int64_t>(matrix) : graph_of_matrix<std::int32_t>(matrix),
      {.rows = std::min(static_cast<int>(options.rows), most),
       .overlap = options.overlap,
       .most = most,
       .unknowns_a_node = nodes_have <= options.rows ? nodes_have : 1});
}

template <class Entry>
buffer<Entry> on_place(place where, const std::vector<Entry>& entries) {
  return buffer<Entry>(where, static_cast<index_type>(entries.size()), entries.data());
}

/// Sets of rows in memory of a place, and for each row where its contributions lie.
class placed_sets {
 public:
  placed_sets(place where, const subdomains& from, bool adds_up) {
    if (from.rows.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      throw error("making preconditioner schwarz",
                  "its subdomains have " + std::to_string(from.rows.size()) + " rows together, more than 32 bits count",
                  "Set a smaller overlap or more rows");
    std::vector<row_set> sets;
    std::vector<std::int32_t> of;
    for (std::size_t s = 0; s < from.count(); ++s) {
      const auto rows = static_cast<std::int32_t>(from.offsets[s + 1] - from.offsets[s]);
      const std::int32_t kept = adds_up ? rows : from.own[s];
      sets.push_back({view_.numbers, static_cast<std::int32_t>(from.offsets[s]), static_cast<std::int32_t>(of.size()),
                      rows, from.own[s], kept});
      of.insert(of.end(), static_cast<std::size_t>(kept), static_cast<std::int32_t>(s));
      view_.numbers += index_type{rows} * kept;
      view_.most = std::max(view_.most, rows);
      least_ = s > 0 ? std::min(least_, rows) : rows;
    }
    sets_ = on_place(where, sets);
    rows_ = on_place(where, from.rows);
    of_ = on_place(where, of);
    if (adds_up) list_contributions(where, from);
    view_.count = static_cast<std::int32_t>(sets.size());
    view_.kept = static_cast<index_type>(of.size());
    view_.adds_up = adds_up;
    view_.sets = sets_.data();
    view_.rows = rows_.data();
    view_.of = of_.data();
    view_.weights = weights_.data();
  }

  const row_sets& view() const { return view_; }
  int least() const { return least_; }
  template <class T>
  add_up<T> addition(const T* contributions, T* z) const {
    return {offsets_.data(), kept_rows_.data(), contributions, z};
  }
  index_type bytes() const {
    return sets_.bytes() + rows_.bytes() + of_.bytes() + weights_.bytes() + offsets_.bytes() + kept_rows_.bytes();
  }

 private:
  void list_contributions(place where, const subdomains& from) {
    index_type n = 0;
    for (const int own : from.own) n += own;
    std::vector<std::int32_t> offsets(static_cast<std::size_t>(n) + 1, 0), kept_rows(from.rows.size());
    for (const std::int32_t i : from.rows) ++offsets[static_cast<std::size_t>(i) + 1];
    std::vector<double> weights;
    for (const std::int32_t i : from.rows)
      weights.push_back(1 / std::sqrt(static_cast<double>(offsets[static_cast<std::size_t>(i) + 1])));
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) offsets[i + 1] += offsets[i];
    std::vector<std::int32_t> next(offsets.begin(), offsets.end() - 1);
    for (std::size_t k = 0; k < from.rows.size(); ++k)
      kept_rows[static_cast<std::size_t>(next[static_cast<std::size_t>(from.rows[k])]++)] =
          static_cast<std::int32_t>(k);
    weights_ = on_place(where, weights);
    offsets_ = on_place(where, offsets);
    kept_rows_ = on_place(where, kept_rows);
  }

  row_sets view_;
  int least_ = 1;
  buffer<row_set> sets_;
  buffer<std::int32_t> rows_, of_;
  buffer<double> weights_;
  buffer<std::int32_t> offsets_, kept_rows_;
};

template <class T, class C>
class schwarz_of final : public matrix_preconditioner<T> {
 public:
  schwarz_of(const solve_request<T>& matrix, bool symmetric, const schwarz_options& options)
      : matrix_(matrix),
        symmetric_(symmetric),
        sets_(matrix.where, subdomains_of(matrix, options), symmetric && options.overlap > 0),
        inverses_(matrix.where, sets_.view().size()) {
    const row_sets& sets = sets_.view();
    const std::string count = std::to_string(sets.count), most = std::to_string(sets.most);
    description_ = options.overlap == 0 ? count + (sets.count == 1 ? " block" : " blocks") + " of up to " + most
                   : sets_.least() == sets.most
                       ? count + (sets.count == 1 ? " subdomain" : " subdomains") + " of " + most
                       : count + " subdomains of " + std::to_string(sets_.least()) + " to " + most;
    description_ += " rows";
  }

  void read_values_from(constant_slot<const T> values) override { values_ = values; }
  void take_memory(index_type, workspace& memory) override {
    if (sets_.view().adds_up) contributions_ = memory.take<T>(sets_.view().kept);
  }
  bool made_from_operator() const override { return true; }
  void prepare_by_itself(recorder& run, const double* factor) const override {
    if (matrix_.offsets_64) {
      record_inverses<std::int64_t>(run, factor);
    } else {
      record_inverses<std::int32_t>(run, factor);
    }
  }
  void apply(recorder& run, const T* r, T* z) const override {
    const row_sets& sets = sets_.view();
    run.step(sets.adds_up ? "solve on the subdomains" : "z = M r by subdomains", sets.kept,
             multiply_by_blocks<T, C, row_sets>{sets, inverses_.data(), r, sets.adds_up ? contributions_ : z});
    if (sets.adds_up) run.step("z = M r", matrix_.rows, sets_.addition<T>(contributions_, z));
  }

  index_type bytes() const override { return inverses_.bytes() + sets_.bytes(); }
  std::string description() const override { return description_; }

 private:
  template <class Offset>
  void record_inverses(recorder& run, const double* factor) const {
    using inversion = invert_blocks<T, C, Offset, row_sets>;
    const row_sets& sets = sets_.view();
    const double lost = 4 * sets.most * static_cast<double>(std::numeric_limits<T>::epsilon());
    run.team("invert the subdomains", inversion::teams(sets, run.where().on_host()),
             inversion{sets, symmetric_, lost, static_cast<const Offset*>(matrix_.row_offsets), matrix_.column_indices,
                       values_, factor, inverses_.data()});
  }

  solve_request<T> matrix_;
  bool symmetric_;
  placed_sets sets_;
  buffer<C> inverses_;
  std::string description_;
  constant_slot<const T> values_;
  T* contributions_ = nullptr;
};

}  // namespace
}  // namespace schwarz

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_schwarz(const solve_request<T>& matrix, bool symmetric,
                                                       const schwarz_options& options) {
  if constexpr (std::is_same_v<T, double>)
    if (options.precision == "double")
      return std::make_unique<schwarz::schwarz_of<T, double>>(matrix, symmetric, options);
  return std::make_unique<schwarz::schwarz_of<T, float>>(matrix, symmetric, options);
}
template std::unique_ptr<matrix_preconditioner<WHILST_NUMBER>> make_schwarz(const solve_request<WHILST_NUMBER>&, bool,
                                                                            const schwarz_options&);

}  // namespace whilst
