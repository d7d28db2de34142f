#pragma once

#include <whilst/template_door.hpp>

struct second_difference {  // -u'' on n points of a line, unscaled
  whilst::index_type n;
  WHILST_HD whilst::index_type rows() const { return n; }
  WHILST_HD int lanes_wanted() const { return 1; }  // threads of a warp that share a row
  template <class T, class Team>
  WHILST_HD T row(whilst::index_type i, const T* x, const Team&) const {
    return 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i < n - 1 ? x[i + 1] : 0);
  }
};
struct halve {  // M r, with M the inverse of the diagonal
  WHILST_HD double operator()(whilst::index_type, double r) const { return r / 2; }
};
