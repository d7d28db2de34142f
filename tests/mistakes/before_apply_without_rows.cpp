// refused: an operator's `before_apply` returns the operator that has row(i, x, team), for the x passed
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/products.hpp"

using namespace whilst;

struct gathered {
  double* product;
  index_type rows() const { return 10; }
  int lanes_wanted() const { return 1; }
  template <class Team>
  double row(index_type i, const double*, const Team&) const {
    return product[i];
  }
  void before_apply(recorder&, const double*) const {}
};

void record(recorder& run, gathered A, const double* x, double* y) {
  product(run, "y = A x", A, x, y, product_alone{});
}
