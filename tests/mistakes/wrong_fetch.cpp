// refused: a map's `fetch` is called as fetch(index_type, const Team&) const
#include "whilst/engine/recorder.hpp"

using namespace whilst;

struct add_one {
  static constexpr bool fetches_constants = true;
  const double* constants;
  double* x;
  double fetch(index_type i) const { return constants[i]; }
  void operator()(index_type i, double constant) const { x[i] += constant; }
};

void record(recorder& run, add_one map) { run.step("x += c", 10, map); }
