// refused: a map's `read` is called as read(index_type) const
#include "whilst/engine/recorder.hpp"

using namespace whilst;

struct add_one {
  double* x;
  double read(index_type i, double* from) const { return from[i]; }
  void operator()(index_type i, double old) const { x[i] = old + 1; }
};

void record(recorder& run, add_one map) { run.step("x += 1", 10, map); }
