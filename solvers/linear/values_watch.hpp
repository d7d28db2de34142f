#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "whilst/basics/safe_norm.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// What a preconditioner keeps about the values that it was made from, in memory of its place.
struct watched_values {
  double scale;                            ///< a power of two, perhaps negative: what was made is that of scale A
  std::uint64_t fingerprint[2], found[2];  ///< of the values that it was made from, and of the present ones
  int are_new;                             ///< whether the preconditioner is to be made from the present ones
  double factor;                           ///< what a product with the preconditioner is multiplied by
  double iterations_a_digit;  ///< of the first solve since it was made; 0 where a change of values has it made anew
  int is_to_be_measured;      ///< no solve has told of it since it was made
  index_type refreshes;       ///< how often it was made anew
};

/// Finds out on the device, once in a solve, whether a matrix has other values than those a preconditioner was made
/// from, and has it made anew then: nobody has to say so.
///
/// A lagged preconditioner waits until a solve takes more than growth * k + 2 iterations, where the first solve after
/// the last refresh, which took a residual down by so many digits, would have taken k.
template <class T>
class values_watch {
 public:
  /// The matrix's values lie at matrix.values now. growth: 0 for a preconditioner that is not lagged.
  explicit values_watch(const solve_request<T>& matrix, double growth = 0)
      : nonzeros_(matrix.nonzeros),
        growth_(growth),
        memory_(matrix.where, 1, std::data({memory{.kept = {}, .first = matrix.values}})) {}

  /// The values to begin with.
  constant_slot<const T> first() const { return {&memory_.data()->first}; }
  watched_values* kept() const { return &memory_.data()->kept; }
  const double* scale() const { return &kept()->scale; }
  const double* factor() const { return &kept()->factor; }
  const index_type* refreshes() const { return &kept()->refreshes; }
  index_type bytes() const { return memory_.bytes(); }

  /// Records a choice of `scale` by which the mean size of the entries of scale A is between 1 and 2.
  void record_scale(recorder& run, constant_slot<const T> values) const {
    const double weight = nonzeros_ ? 1 / static_cast<double>(nonzeros_) : 0;
    run.step("how large the values are", nonzeros_, add_sizes{values, weight}, choose_scale{kept()});
  }
  /// To be recorded behind what makes the preconditioner from the first values.
  void record_first(recorder& run) const {
    run.step("the values", nonzeros_, take_fingerprint{first()}, compare_fingerprint{kept()});
    run.once("made from these values", note_values{kept(), nullptr});
  }
  /// Records that remake(inner) is run where values are new. operator_factor: as for preconditioner::prepare.
  template <class Remake>
  void record_watch(recorder& run, constant_slot<const T> values, const double* operator_factor,
                    const Remake& remake) const {
    run.step("have values changed?", nonzeros_, take_fingerprint{values}, compare_fingerprint{kept()});
    run.branch("new values", &kept()->are_new, remake);
    run.once("made from these values", note_values{kept(), operator_factor});
  }
  /// See preconditioner.
  void record_beginning(recorder& run) const { run.once("a sequence of solves begins", forget_solves{kept()}); }
  void record_note(recorder& run, const control* loop, const double* first_norm) const {
    if (growth_ > 0) run.once("what the solve took", note_iterations{kept(), loop, first_norm, growth_});
  }

  // The steps; public, as nvcc wants the types of kernels.

  /// A hash of all values and their places.
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
    watched_values* of;
    WHILST_HD void operator()(const sums<std::uint64_t, 2>& found) const {
      const bool differ = found[0] != of->fingerprint[0] || found[1] != of->fingerprint[1];
      of->are_new = differ && of->iterations_a_digit == 0;
      for (int k = 0; k < 2; ++k) of->found[k] = found[k];
    }
  };
  /// The size of a matrix's entries, by their mean.
  struct add_sizes {
    constant_slot<const T> values;
    double weight;
    WHILST_HD auto operator()(index_type k) const { return sums{weight * fabs(static_cast<double>(values.get()[k]))}; }
    index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(T)); }
  };
  struct choose_scale {
    watched_values* of;
    WHILST_HD void operator()(const sums<double, 1>& mean) const {
      of->scale = mean[0] > 0 && is_finite(mean[0]) ? power_of_two(-binary_exponent(mean[0])) : 1;
    }
  };
  /// Only once all is made does it count as that of these values: what failed in between is made again.
  struct note_values {
    watched_values* of;
    const double* operator_factor;  ///< null while the preconditioner is made for the first time
    WHILST_HD void operator()() const {
      if (of->are_new) {
        for (int k = 0; k < 2; ++k) of->fingerprint[k] = of->found[k];
        of->is_to_be_measured = 1;
        of->refreshes += operator_factor != nullptr;
      }
      if (operator_factor) of->factor = of->scale / *operator_factor;
    }
  };
  struct forget_solves {
    watched_values* of;
    WHILST_HD void operator()() const {
      of->iterations_a_digit = 0;
      of->is_to_be_measured = 1;
      of->refreshes = 0;
    }
  };
  struct note_iterations {
    static constexpr double slack = 2, most_digits = 20;
    watched_values* of;
    const control* loop;
    const double* first_norm;
    double growth;
    WHILST_HD void operator()() const {
      const double iterations = static_cast<double>(loop->iteration), lowered = *first_norm / loop->residual_norm;
      if (iterations == 0) {
        if (may_be_of_preconditioner(loop->why)) of->iterations_a_digit = 0;
        return;
      }
      const bool tells = lowered >= 2;  // one that was nearly there to begin with may not have to lower it so far
      const double digits = lowered > 1 ? fmin(log10(lowered), most_digits) : 0;
      if (of->iterations_a_digit == 0) {
        if (!tells || !of->is_to_be_measured) return;
        of->iterations_a_digit = iterations / digits;
        of->is_to_be_measured = 0;
      } else if ((!tells && !converged(loop->why)) || iterations > growth * of->iterations_a_digit * digits + slack) {
        of->iterations_a_digit = 0;
      }
    }
    /// Whether another preconditioner may do better than one with which a solve has ended so.
    WHILST_HD static bool may_be_of_preconditioner(reason why) {
      return why == reason::indefinite_preconditioner || why == reason::breakdown || why == reason::stagnation ||
             why == reason::divergence || why == reason::nan_or_infinity;
    }
  };

 private:
  index_type nonzeros_;
  double growth_;
  struct memory {
    watched_values kept;
    const T* first;  ///< the first values
  };
  buffer<memory> memory_;
};

}  // namespace whilst
