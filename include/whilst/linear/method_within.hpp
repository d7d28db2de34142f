#pragma once

#include <memory>

#include "whilst/linear/linear_solve.hpp"

namespace whilst {

/// A method's loop without the solve around it, within a loop of another solve: some iterations for A d = r from d = 0,
/// where A, r and what the loop compares norms with are the caller's to scale. Made from memory of the program that it
/// is recorded into.
template <class T>
class method_within {
 public:
  virtual ~method_within() = default;
  /// Records, once in a solve, what the method and M need of A; d is memory that is free.
  virtual void prepare(recorder& run) const = 0;
  /// Records the loop. d is zero and r the right-hand side, both overwritten; the control's settings hold the limit,
  /// and its state the norms to compare with. d then holds what the iterations have found.
  virtual void record(recorder& run, control* loop) const = 0;
};

/// Makes one for *factor A with a preconditioner, null for none, and vectors of the caller's. Called twice, like the
/// layout of an arena.
template <class T>
using method_within_maker = std::unique_ptr<method_within<T>> (*)(linear_operator<T>& A, const double* factor,
                                                                  preconditioner<T>* M, T* d, T* r,
                                                                  const method_settings& settings, workspace& memory);

template <template <class, class, class> class Method, class T>
class method_in_parts final : public method_within<T> {
  using scaled = scaled_operator<T, composed_operator<T>>;
  using composed = composed_preconditioner<T>;
  using method_type = Method<T, scaled, composed>;

 public:
  method_in_parts(linear_operator<T>& A, const double* factor, preconditioner<T>* M, T* d, T* r,
                  const method_settings& settings, workspace& memory)
      : A_{composed_operator<T>{&A}, factor},
        M_(composed{M}.with_memory(A.rows(), memory)),
        method_(detail::made_method<method_type>(A_, M_, d, r, settings, memory)) {}
  void prepare(recorder& run) const override {
    M_.prepare(run, A_);
    detail::prepare_method(run, method_);
  }
  void record(recorder& run, control* loop) const override {
    run.loop(
        method_type::name, loop, [&](auto& inner) { method_.start(inner); },
        [&](auto& inner) { method_.iterate(inner); });
    detail::conclude_method(run, method_);
  }
  static std::unique_ptr<method_within<T>> make(linear_operator<T>& A, const double* factor, preconditioner<T>* M, T* d,
                                                T* r, const method_settings& settings, workspace& memory) {
    return std::make_unique<method_in_parts>(A, factor, M, d, r, settings, memory);
  }

 private:
  scaled A_;
  composed M_;
  method_type method_;
};

}  // namespace whilst
