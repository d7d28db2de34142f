// refused: as preconditioned(M, map, r, u), which makes u = M r
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/products.hpp"

using namespace whilst;

struct half_step {
  const double* v;
  double* r;
  double operator()(index_type i) const { return r[i] -= v[i]; }
};

void record(recorder& run, half_step map) { update(run, "r -= v", 10, map); }
