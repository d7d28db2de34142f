// refused: a finish is called by its `operator()` const with the sums that the map returns
#include "whilst/engine/recorder.hpp"

using namespace whilst;

struct products {
  const double *x, *y;
  sums<double, 2> operator()(index_type i) const { return {x[i] * x[i], x[i] * y[i]}; }
};
struct keep {
  double* kept;
  void operator()(const sums<double, 3>& total) const { *kept = total[2]; }
};

void record(recorder& run, products map, keep finish) { run.step("x'x, x'y", 10, map, finish); }
