// refused: a preconditioner's `fetch` returns a struct of its own, and M(that, r) is M(i, r)
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/products.hpp"

using namespace whilst;

struct divide {
  static constexpr bool pointwise = true, is_identity = false, runs_in_kernel = true;
  const double* diagonal;
  template <class Team>
  double fetch(index_type i, const Team&) const {
    return diagonal[i];
  }
  double operator()(index_type i, double r) const { return r / diagonal[i]; }
};
struct negate {
  double* r;
  double read(index_type i) const { return r[i]; }
  double operator()(index_type i, double ri) const { return r[i] = -ri; }
};

void record(recorder& run, const divide& M, double* r, double* u) {
  update(run, "r = -r; u = M r", 10, preconditioned(M, negate{r}, r, u));
}
