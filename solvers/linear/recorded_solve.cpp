#include "whilst/linear/recorded_solve.hpp"

#include "whilst/basics/error.hpp"

namespace whilst {

template <class T>
recorded_solve<T> declare_parameters(program_recorder& record, const solve_request<T>& request,
                                     const solve_frame<T>& frame, control_settings* outer, control_settings* inner) {
  recorded_solve<T> made;
  made.b = record.parameter<const T*>(frame.b, nullptr);
  made.x = record.parameter<T*>(frame.x, nullptr);
  made.values = record.parameter<const T*>(frame.values, request.values);
  made.outcome = record.parameter<solve_outcome*>(frame.outcome, nullptr);
  made.outer_settings = record.parameter(outer, control_settings{});
  made.inner_settings = record.parameter(inner, control_settings{});
  made.outer = frame.outer;
  made.inner = frame.inner;
  return made;
}
template recorded_solve<float> declare_parameters(program_recorder&, const solve_request<float>&,
                                                  const solve_frame<float>&, control_settings*, control_settings*);
template recorded_solve<double> declare_parameters(program_recorder&, const solve_request<double>&,
                                                   const solve_frame<double>&, control_settings*, control_settings*);

void refuse_in_kernel() {
  throw error("recording a solve for a kernel",
              "the method, the operator or the preconditioner records steps of its own",
              "Use executor graph, stream or host");
}

}  // namespace whilst
