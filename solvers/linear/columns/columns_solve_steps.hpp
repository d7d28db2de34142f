#pragma once

#include "solvers/linear/columns/by_column.hpp"
#include "whilst/linear/linear_solve_steps.hpp"
#include "whilst/linear/methods/conjugate_gradient.hpp"
#include "whilst/linear/operators.hpp"

namespace whilst {

/// The steps of a columns_solve around its method. Verdicts are those of a linear_solve, column by column.
template <class T, class Operator>
struct columns_solve_steps {
  using single = linear_solve_steps<T, Operator, conjugate_gradient>;
  using scalars = typename single::scalars;
  using entries = column_pair<T>;

  /// What the caller binds: b and x column-major without gaps, and an outcome a column.
  struct operands {
    slot<const T> b;
    slot<T> x;
    slot<solve_outcome> outcome;
    method_settings settings = {};
    index_type columns = 1;
  };
  /// Of each column: its scalars, and the controls of its own two loops.
  struct states {
    scalars* s;
    control *outer, *inner;
    WHILST_HD bool runs(index_type column) const { return outer[column].running != 0; }
  };
  /// Which of two columns run.
  struct running {
    bool runs, first, second;
    WHILST_HD running(const states& of, index_type pair) : first(of.runs(2 * pair)), second(of.runs(2 * pair + 1)) {
      runs = first || second;
    }
    WHILST_HD bool operator[](int j) const { return j == 0 ? first : second; }
  };
  static index_type bytes_of_vectors(const column_layout& of, int number) {
    return number * of.entries() * static_cast<index_type>(sizeof(entries));
  }

  struct bring_in {
    operands io;
    column_layout of;
    entries *x, *b;
    struct known {
      index_type pair;
      bool runs = true;
    };
    WHILST_HD known read(index_type pair) const { return {pair}; }
    WHILST_HD auto operator()(index_type i, index_type at, const known& here) const {
      entries bi{}, xi{};
      for (int j = 0; j < 2; ++j) {
        const index_type column = 2 * here.pair + j;
        if (column >= of.columns) continue;
        bi.value[j] = io.b.get()[column * of.rows + i];
        xi.value[j] = io.x.get()[column * of.rows + i];
      }
      b[at] = bi;
      x[at] = xi;
      const column_sums<3> bb = squares_of_pair(bi), xx = squares_of_pair(xi);
      return column_sums<6>{{bb.value[0], bb.value[1], bb.value[2], xx.value[0], xx.value[1], xx.value[2]}};
    }
    index_type bytes(const column_layout& layout) const { return bytes_of_vectors(layout, 4); }
  };
  struct begin {
    states each;
    const control *root, *within;
    WHILST_HD bool is_asked(index_type) const { return true; }
    WHILST_HD void operator()(index_type column, const sums<double, 6>& total) const {
      control &outer = each.outer[column], &inner = each.inner[column];
      outer.settings = root->settings;
      inner.settings = within->settings;
      outer.first_iteration = 0;
      outer.arm(true);
      typename single::begin{each.s + column, &inner}(total);
    }
  };

  /// One vector, whatever the columns: the size and the sign of A are the same for all.
  struct probe {
    WHILST_HD T operator[](index_type i) const { return single::bring_in::probe(i); }
  };
  struct measure_operator {
    Operator A;
    WHILST_HD auto operator()(index_type i) const {
      const T Av = A.row_of_several(i, probe{});
      return typename single::probe_sums{nullptr}(probe{}[i], Av);
    }
    index_type bytes(index_type) const { return A.bytes(); }
  };
  struct note_size {
    scalars* of_all;
    index_type n;
    bool scales;
    WHILST_HD void operator()(const sums<double, 2>& total) const {
      typename single::note_size{of_all, n}(total);
      const double factor = single::factor_for(of_all->operator_size, scales);
      of_all->operator_factor = of_all->along < 0 ? -factor : factor;
    }
  };

  struct residual {
    states each;
    Operator A;
    index_type pairs;
    const entries *b, *x;
    entries* r;
    struct known : running {
      pair_of_columns<T> x;
    };
    WHILST_HD known read(index_type pair) const { return {{each, pair}, {x + pair, pairs}}; }
    WHILST_HD auto operator()(index_type i, index_type at, const known& of_pair) const {
      const entries ri = b[at] - A.row_of_several(i, of_pair.x);
      r[at] = ri;
      return squares_of_pair(ri);
    }
    index_type bytes(const column_layout& of) const { return A.bytes() + bytes_of_vectors(of, 3); }
  };
  WHILST_HD static auto residual_sums_of(const sums<double, 3>& rr) {
    return typename single::residual_sums{{rr[0], rr[1], rr[2], 0, 0}};
  }
  struct judge_start {
    states each;
    const scalars* of_all;
    index_type n;
    bool scales;
    WHILST_HD bool is_asked(index_type) const { return true; }
    WHILST_HD bool operator()(index_type column, const sums<double, 3>& rr) const {
      scalars* const s = each.s + column;
      s->operator_size = of_all->operator_size;
      s->along = of_all->along;
      typename single::judge_start{s, each.outer + column, each.inner + column, n, false, scales}(residual_sums_of(rr));
      return each.runs(column);
    }
  };
  struct judge_restart {
    states each;
    bool keep_best, lowers_error;
    WHILST_HD bool is_asked(index_type column) const { return each.runs(column); }
    WHILST_HD bool operator()(index_type column, const sums<double, 3>& rr) const {
      typename single::judge_restart{each.s + column, each.outer + column, each.inner + column, keep_best,
                                     lowers_error}(residual_sums_of(rr));
      return each.runs(column);
    }
  };

  struct scale_residual {
    states each;
    entries *r, *d;
    struct known : running {
      column_pair<double> to_residual;
    };
    WHILST_HD known read(index_type pair) const {
      return {{each, pair}, {each.s[2 * pair].to_residual, each.s[2 * pair + 1].to_residual}};
    }
    WHILST_HD void operator()(index_type, index_type at, const known& of_pair) const {
      r[at] = scaled(of_pair.to_residual, r[at]);
      d[at] = {};
    }
    index_type bytes(const column_layout& of) const { return bytes_of_vectors(of, 3); }
  };
  /// A column's own loop begins, within the one for all.
  struct begin_correction {
    states each;
    WHILST_HD void operator()(index_type column) const {
      each.inner[column].running = 0;
      if (!each.runs(column)) return;
      each.s[column].pending = 1;
      each.inner[column].arm(true);
      each.inner[column].open();
    }
  };

  struct add_correction {
    states each;
    const entries* d;
    entries *x, *kept;
    struct known : running {
      column_pair<double> to_x;
    };
    WHILST_HD known read(index_type pair) const {
      return {{each, pair}, {each.s[2 * pair].to_x, each.s[2 * pair + 1].to_x}};
    }
    WHILST_HD auto operator()(index_type, index_type at, const known& of_pair) const {
      entries xi = x[at], before = kept[at];
      const entries di = d[at];
      for (int j = 0; j < 2; ++j) {
        if (!of_pair[j]) continue;
        before.value[j] = xi[j];
        xi.value[j] = static_cast<T>(xi[j] + of_pair.to_x[j] * static_cast<double>(di[j]));
      }
      kept[at] = before;
      x[at] = xi;
      return squares_of_pair(xi);
    }
    index_type bytes(const column_layout& of) const { return bytes_of_vectors(of, 5); }
  };
  struct measure_x {
    states each;
    const control* within;
    WHILST_HD bool is_asked(index_type column) const { return each.runs(column); }
    WHILST_HD void operator()(index_type column, const sums<double, 3>& xx) const {
      control& inner = each.inner[column];
      if (inner.running) inner.stop(within->why);  // a cancel or a deadline, which the columns are not told
      typename single::measure_x{each.s + column, &inner}(xx);
    }
  };

  struct hand_back {
    operands io;
    column_layout of;
    states each;
    bool may_rise;
    const entries *x, *d, *kept;
    struct known {
      index_type pair;
      bool runs = true;
    };
    WHILST_HD known read(index_type pair) const { return {pair}; }
    WHILST_HD void operator()(index_type i, index_type at, const known& here) const {
      for (int j = 0; j < 2; ++j) {
        const index_type column = 2 * here.pair + j;
        if (column >= of.columns) continue;
        io.x.get()[column * of.rows + i] = single::handed_back(each.s + column, each.inner + column, may_rise,
                                                               x[at].value + j, d[at].value + j, kept[at].value + j);
      }
    }
    index_type bytes(const column_layout& layout) const { return bytes_of_vectors(layout, 2); }
  };
  struct tell {
    operands io;
    states each;
    const control* root;
    bool may_rise;
    WHILST_HD void operator()(index_type column) const {
      control& outer = each.outer[column];
      if (outer.running) outer.stop(root->why);  // likewise
      const typename single::operands own{io.b, io.x, io.outcome.shifted(column), io.settings};
      typename single::tell{each.s + column, &outer, each.inner + column, own, may_rise}();
    }
  };
};

}  // namespace whilst
