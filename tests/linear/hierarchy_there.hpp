#pragma once

// amg's levels of a matrix, for tests of what is in them; for sources that nvcc compiles where CUDA is on.

#include <cstdint>
#include <limits>
#include <type_traits>

#include "solvers/linear/multigrid/hierarchy.hpp"
#include "whilst/linear/csr_matrix.hpp"

namespace whilst_test {

template <class From, class To>
struct copy_values {
  const From* from;
  To* to;
  WHILST_HD void operator()(whilst::index_type k) const { to[k] = static_cast<To>(from[k]); }
};

/// A hierarchy in numbers C of a matrix of doubles, on a place.
template <class C>
struct hierarchy_there {
  whilst::buffer<std::int32_t> offsets, columns;
  whilst::buffer<double> values;
  whilst::multigrid::hierarchy<C> levels;

  hierarchy_there(whilst::place where, const whilst::csr_matrix<double>& A, bool symmetric,
                  const whilst::amg_options& options, bool may_go_on = false)
      : offsets(where, A.rows() + 1, A.row_offsets_32().data()),
        columns(where, A.nonzeros(), A.column_indices().data()),
        values(where, A.nonzeros(), A.values().data()),
        levels(
            where, {A.rows(), A.columns(), A.nonzeros(), offsets.data(), columns.data()}, symmetric,
            std::numeric_limits<double>::epsilon(), options,
            [&](whilst::recorder& run, auto* finest) {
              using V = std::remove_pointer_t<decltype(finest)>;
              run.step("values", values.size(), copy_values<double, V>{values.data(), finest});
            },
            may_go_on) {}
};

}  // namespace whilst_test
