// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/distributed/multigrid/amg_across_ranks.hpp"

#include <cmath>
#include <type_traits>

#include "solvers/linear/distributed/multigrid/cycle_of_group.hpp"

namespace whilst {
namespace {

using multigrid::levels_of_group, multigrid::local_numbers, multigrid::round_vector;

constexpr const char* making_amg_across_ranks = "making amg for several ranks";

template <class T, class C>
struct scale_values_of_group {
  const T* values;
  double scale;
  C* scaled;
  WHILST_HD void operator()(index_type k) const { scaled[k] = static_cast<C>(scale * static_cast<double>(values[k])); }
};
struct note_factor_of_group {
  const double *scale, *of_operator;
  double* factor;
  WHILST_HD void operator()() const { *factor = *scale / *of_operator; }
};

template <class T>
struct add_sizes_of_group {
  const T* values;
  WHILST_HD auto operator()(index_type k) const { return sums{std::fabs(static_cast<double>(values[k]))}; }
};
struct note_sum_of_group {
  double* sum;
  WHILST_HD void operator()(const sums<double, 1>& sizes) const { *sum = sizes[0]; }
};

/// A power of two by which the mean size of all ranks' entries becomes one between 1 and 2. values: this rank's, on
/// the place.
template <class T>
double scale_of(const group& ranks, place where, const T* values, index_type nonzeros) {
  const auto sizes = ranks.all_gather<double>(making_amg_across_ranks, [&] {
    const buffer<double> added(where, 1);
    program_recorder run(where);
    run.step("how large the values are", nonzeros, add_sizes_of_group<T>{values}, note_sum_of_group{added.data()});
    run_now(std::move(run).finish(), where);
    double sum = 0;
    added.download(&sum);
    return std::vector{sum, static_cast<double>(nonzeros)};
  });
  double sum = 0, count = 0;
  for (std::size_t k = 0; k < sizes.all.size(); k += 2) {
    sum += sizes.all[k];
    count += sizes.all[k + 1];
  }
  const double mean = sum / count;
  return mean > 0 && is_finite(mean) ? power_of_two(-binary_exponent(mean)) : 1;
}

template <class T, class C>
class amg_across_ranks final : public preconditioner_of_group<T> {
 public:
  amg_across_ranks(const exchange& ranks, const distributed_csr_matrix<T>& A, const solve_request<T>& request,
                   const amg_options& options)
      : where_(ranks.where()), nonzeros_(request.nonzeros), rows_(request.rows) {
    const double scale = scale_of(A.ranks(), where_, request.values, nonzeros_);
    A.ranks().agree(making_amg_across_ranks, [&] {
      values_ = buffer<C>(where_, nonzeros_);
      factors_ = buffer<double>(where_, 2);
      take_values(request.values, scale);
    });
    const local_numbers named{A.partition(), A.ranks().rank(), A.halo().ghosts};
    levels_ = std::make_unique<levels_of_group<C>>(
        ranks, named, A.halo(),
        multigrid::pattern_view{request.rows, request.columns, request.nonzeros,
                                static_cast<const std::int32_t*>(request.row_offsets), request.column_indices},
        values_.data(), options);
    words_ = "amg across ranks: " + levels_->description();
  }
  void update_values(const distributed_csr_matrix<T>& A, const T* values) override {
    const double scale = scale_of(A.ranks(), where_, values, nonzeros_);
    A.ranks().agree(making_amg_across_ranks, [&] { take_values(values, scale); });
    levels_->update_values();
  }
  void recover() override { levels_->recover(); }
  std::string words() const override { return words_; }

  void prepare(group_recorder& run, const double* factor) const override {
    run.once("the scale of M", note_factor_of_group{factors_.data(), factor, factors_.data() + 1});
  }
  void apply(group_recorder& run, const T* r, T* z) const override {
    run.step("r in the cycle's numbers", rows_, round_vector<C, T>{r, levels_->residual()});
    apply_to_rounded(run, z);
  }
  float* rounded_residual() const override {
    if constexpr (std::is_same_v<C, float> && !std::is_same_v<T, float>) return levels_->residual();
    return nullptr;
  }
  void apply_to_rounded(group_recorder& run, T* z) const override {
    record_cycle_of_group(run, *levels_, z, factors_.data() + 1);
  }

 private:
  void take_values(const T* values, double scale) {
    const double factors[] = {scale, 1};
    factors_.upload(factors);
    program_recorder run(where_);
    run.step("the finest values", nonzeros_, scale_values_of_group<T, C>{values, scale, values_.data()});
    run_now(std::move(run).finish(), where_);
  }

  place where_;
  index_type nonzeros_, rows_;
  buffer<C> values_;
  buffer<double> factors_;  ///< of the levels' matrix over A; what a cycle's answer is multiplied by
  std::unique_ptr<levels_of_group<C>> levels_;
  std::string words_;
};

}  // namespace

template <class T>
std::unique_ptr<preconditioner_of_group<T>> make_amg_across_ranks(const exchange& ranks,
                                                                  const distributed_csr_matrix<T>& A,
                                                                  const solve_request<T>& request,
                                                                  const amg_options& options) {
  if constexpr (std::is_same_v<T, double>)
    if (options.precision == "double") return std::make_unique<amg_across_ranks<T, double>>(ranks, A, request, options);
  return std::make_unique<amg_across_ranks<T, float>>(ranks, A, request, options);
}
template std::unique_ptr<preconditioner_of_group<WHILST_NUMBER>> make_amg_across_ranks(
    const exchange&, const distributed_csr_matrix<WHILST_NUMBER>&, const solve_request<WHILST_NUMBER>&,
    const amg_options&);

}  // namespace whilst
