// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/multigrid/amg.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "solvers/linear/multigrid/cycle.hpp"
#include "whilst/basics/safe_norm.hpp"

namespace whilst {
namespace {

using multigrid::cycle_vectors, multigrid::hierarchy, multigrid::pattern_view, multigrid::record_cycle;

/// What a hierarchy keeps about the values that it was made from, in memory of its place.
struct values_of_hierarchy {
  double scale;                            ///< a power of two: the hierarchy is that of scale A
  std::uint64_t fingerprint[2], found[2];  ///< of the values that it was made from, and of the present ones
  int are_new;                             ///< whether the present values differ
  double factor;                           ///< what a cycle's result is multiplied by
};

/// A hash of all values and their places.
template <class T>
struct take_fingerprint {
  constant_slot<const T> values;

  WHILST_HD static std::uint64_t mixed(std::uint64_t x) {  // the finalizer of MurmurHash3, variant 13 of D. Stafford
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  WHILST_HD auto operator()(index_type k) const {
    const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(values.get()[k]));
    const std::uint64_t one = mixed(bits + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(k + 1));
    return sums{one, mixed(one ^ 0xd6e8feb86659fd93u)};
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
};
struct compare_fingerprint {
  values_of_hierarchy* of;
  WHILST_HD void operator()(const sums<std::uint64_t, 2>& found) const {
    of->are_new = found[0] != of->fingerprint[0] || found[1] != of->fingerprint[1];
    for (int k = 0; k < 2; ++k) of->found[k] = found[k];
  }
};

/// The size of a matrix's entries, by their mean.
template <class T>
struct add_sizes {
  constant_slot<const T> values;
  double weight;
  WHILST_HD auto operator()(index_type k) const { return sums{weight * fabs(static_cast<double>(values.get()[k]))}; }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
};
struct choose_scale {
  values_of_hierarchy* of;
  WHILST_HD void operator()(const sums<double, 1>& mean) const {
    of->scale = mean[0] > 0 && is_finite(mean[0]) ? power_of_two(-binary_exponent(mean[0])) : 1;
  }
};
template <class T, class C>
struct scale_finest {
  constant_slot<const T> values;
  const values_of_hierarchy* of;
  C* scaled;
  WHILST_HD void operator()(index_type k) const {
    scaled[k] = static_cast<C>(of->scale * static_cast<double>(values.get()[k]));
  }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T) + sizeof(C)); }
};
/// Only once the levels are made do they count as those of these values: what failed in between is made again.
struct note_levels {
  values_of_hierarchy* of;
  const double* operator_factor;  ///< null while the hierarchy is made for the first time
  WHILST_HD void operator()() const {
    for (int k = 0; k < 2; ++k) of->fingerprint[k] = of->found[k];
    if (operator_factor) of->factor = of->scale / *operator_factor;
  }
};

template <class T, class C>
class amg final : public matrix_preconditioner<T> {
 public:
  amg(const solve_request<T>& matrix, bool symmetric, const amg_options& options)
      : nonzeros_(matrix.nonzeros),
        kept_(matrix.where, 1),
        address_(matrix.where, 1, &matrix.values),
        levels_(matrix.where,
                {matrix.rows, matrix.columns, matrix.nonzeros, static_cast<const std::int32_t*>(matrix.row_offsets),
                 matrix.column_indices},
                symmetric, static_cast<double>(std::numeric_limits<T>::epsilon()), options,
                [&](recorder& run, auto* finest) {
                  record_finest(run, {address_.data()}, finest);
                  run.step("the values", nonzeros_, take_fingerprint<T>{{address_.data()}},
                           compare_fingerprint{kept_.data()});
                  run.once("the levels are of these values", note_levels{kept_.data(), nullptr});
                }),
        values_{address_.data()} {}

  void read_values_from(constant_slot<const T> values) override { values_ = values; }
  void take_memory(index_type, workspace& memory) override {
    vectors_.take_memory(levels_, std::is_same_v<T, C>, memory);
  }
  bool made_from_operator() const override { return true; }
  /// The hierarchy is made anew where a value has changed, on the device: nobody has to say so.
  void prepare_by_itself(recorder& run, const double* factor) const override {
    values_of_hierarchy* const kept = kept_.data();
    run.step("have values changed?", nonzeros_, take_fingerprint<T>{values_}, compare_fingerprint{kept});
    run.branch("new values", &kept->are_new, [&](recorder& inner) {
      levels_.with_given_values([&](auto* finest) { record_finest(inner, values_, finest); });
      levels_.record_values(inner);
    });
    run.once("the levels are of these values", note_levels{kept, factor});
  }
  void apply(recorder& run, const T* r, T* z) const override {
    record_cycle(run, levels_, vectors_, r, z, &kept_.data()->factor);
  }

  index_type bytes() const override { return levels_.bytes() + kept_.bytes(); }
  std::string description() const override { return levels_.description(); }

 private:
  template <class V>
  void record_finest(recorder& run, constant_slot<const T> values, V* finest) const {
    const double weight = nonzeros_ ? 1 / static_cast<double>(nonzeros_) : 0;
    run.step("how large the values are", nonzeros_, add_sizes<T>{values, weight}, choose_scale{kept_.data()});
    run.step("the finest values", nonzeros_, scale_finest<T, V>{values, kept_.data(), finest});
  }

  index_type nonzeros_;
  buffer<values_of_hierarchy> kept_;
  buffer<const T*> address_;  ///< of the values that the hierarchy is first made from
  hierarchy<C> levels_;
  constant_slot<const T> values_;  ///< those, until told of others
  cycle_vectors<C> vectors_;
};

}  // namespace

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_amg(const solve_request<T>& matrix, bool symmetric,
                                                   const amg_options& options) {
  constexpr std::string_view making = "making preconditioner amg";
  if (matrix.offsets_64)
    throw error(making, "the matrix has " + std::to_string(matrix.nonzeros) + " nonzeros, more than 32 bits count",
                "Use preconditioner jacobi");
  const std::string_view precision = options.precision;
  if (precision != "auto" && precision != "float" && precision != "double" && precision != "bfloat16")
    throw error(making, "there is no precision called '" + std::string(precision) + "'",
                "Use one of auto, bfloat16, float, double");
  if constexpr (std::is_same_v<T, double>)
    if (precision == "double") return std::make_unique<amg<T, double>>(matrix, symmetric, options);
  return std::make_unique<amg<T, float>>(matrix, symmetric, options);
}
template std::unique_ptr<matrix_preconditioner<WHILST_NUMBER>> make_amg(const solve_request<WHILST_NUMBER>&, bool,
                                                                        const amg_options&);

}  // namespace whilst
