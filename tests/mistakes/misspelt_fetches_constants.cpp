// refused: a map with `fetch` says static constexpr bool fetches_constants
#include "whilst/engine/recorder.hpp"

using namespace whilst;

struct add_one {
  static constexpr bool fetches_constant = true;
  const double* constants;
  double* x;
  template <class Team>
  double fetch(index_type i, const Team&) const {
    return constants[i];
  }
  void operator()(index_type i, double constant) const { x[i] += constant; }
};

void record(recorder& run, add_one map) { run.step("x += c", 10, map); }
