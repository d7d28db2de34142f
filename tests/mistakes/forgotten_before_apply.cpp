// refused: no member named
#include "whilst/engine/recorder.hpp"
#include "whilst/linear/products.hpp"

using namespace whilst;

/// An operator that needs steps of its own before each product: only what these return has rows.
struct gathered {
  struct with_rows {
    const double* product;
    template <class Team>
    double row(index_type i, const double*, const Team&) const {
      return product[i];
    }
  };
  double* product;
  index_type rows() const { return 10; }
  with_rows before_apply(recorder&, const double*) const { return {product}; }
};
struct apply {
  gathered A;
  const double* x;
  double* y;
  void operator()(index_type i) const { y[i] = A.row(i, x, lanes()); }
};

void record(recorder& run, apply map) { run.step("y = A x", 10, map); }
