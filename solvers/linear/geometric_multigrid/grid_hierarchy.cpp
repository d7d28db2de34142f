// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/geometric_multigrid/grid_hierarchy.hpp"

#include <algorithm>
#include <limits>

#include "solvers/host/run_now.hpp"
#include "solvers/linear/multigrid/cycles/dense_inverse.hpp"

namespace whilst::geometric_multigrid {
namespace {

/// Chooses the axes along which the next grid has fewer points: those with strong links, so that smoothing point by
/// point suffices. Halving the points of an axis makes its links weaker by 4, measured by those of the others.
template <class C>
void choose_axes(grid_level<C>& level, const stencil<double>& of) {
  constexpr double strong = 0.5;
  double strongest = 0;
  for (int d = 0; d < 3; ++d)
    if (level.points[d] > 1) strongest = std::max(strongest, of.axis[d]);
  level.first_red = 0;
  level.coarsens_all = true;
  for (int d = 0; d < 3; ++d) {
    level.coarsens[d] = level.points[d] > 1 && of.axis[d] >= strong * strongest;
    level.coarse_points[d] = level.coarsens[d] ? level.points[d] / 2 : level.points[d];
    level.last_share[d] = level.coarsens[d] ? level.last_width[d] / (1 + level.last_width[d]) : C(0);
    level.coarsens_all &= level.coarsens[d] || level.points[d] == 1;
    level.first_red ^= level.coarsens[d];  // points of the coarser grid are red, if all axes have fewer
  }
}

/// The operator of a level, worked out before it is rounded.
template <class C>
level_operator<double> operator_on(const grid_level<C>& grid, const stencil<double>& of) {
  level_operator<double> made;
  for (int kind = 0; kind < 8; ++kind) {
    double cell[3], degree[3], volume = 1;
    for (int d = 0; d < 3; ++d) {
      const double width = kind >> d & 1 ? static_cast<double>(grid.last_width[d]) : 1;
      cell[d] = (1 + width) / 2;
      degree[d] = 1 + 1 / width;
      volume *= cell[d];
    }
    made.diagonal[kind] = of.shift * volume;
    for (int d = 0; d < 3; ++d) {
      made.at[kind].link[d] = of.axis[d] * cell[(d + 1) % 3] * cell[(d + 2) % 3];
      made.diagonal[kind] += made.at[kind].link[d] * degree[d];
    }
    made.at[kind].inverse_diagonal = 1 / made.diagonal[kind];
  }
  return made;
}
template <class C>
level_operator<C> rounded(const level_operator<double>& of) {
  level_operator<C> made;
  for (int kind = 0; kind < 8; ++kind) {
    for (int d = 0; d < 3; ++d) made.at[kind].link[d] = static_cast<C>(of.at[kind].link[d]);
    made.at[kind].inverse_diagonal = static_cast<C>(of.at[kind].inverse_diagonal);
    made.diagonal[kind] = static_cast<C>(of.diagonal[kind]);
  }
  return made;
}

/// A small grid's operator as a sparse matrix.
struct small_matrix {
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<double> values;

  template <class C>
  small_matrix(const grid_level<C>& grid, const level_operator<double>& of) {
    for (int z = 0; z < grid.points[2]; ++z)
      for (int y = 0; y < grid.points[1]; ++y)
        for (int x = 0; x < grid.points[0]; ++x) append_row(grid, of, x, y, z);
  }

 private:
  void append(index_type column, double value) {
    columns.push_back(static_cast<std::int32_t>(column));
    values.push_back(value);
  }
  template <class C>
  void append_row(const grid_level<C>& grid, const level_operator<double>& of, int x, int y, int z) {
    const int at[3] = {x, y, z}, kind = grid.kind(x, y, z);
    const index_type own = grid.index(x, y, z), stride[3] = {1, grid.points[0], grid.index(0, 0, 1)};
    for (int d = 2; d >= 0; --d)
      if (at[d] > 0) append(own - stride[d], -of.at[kind].link[d]);
    append(own, of.diagonal[kind]);
    for (int d = 0; d < 3; ++d)
      if (at[d] < grid.last(d)) append(own + stride[d], -of.at[kind].link[d]);
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
  }
};

template <class T>
buffer<T> on_place(place where, const std::vector<T>& source) {
  return buffer<T>(where, static_cast<index_type>(source.size()), source.data());
}

}  // namespace

template <class C>
grid_hierarchy<C>::grid_hierarchy(place where, const grid_problem& problem, index_type coarsest_rows) : where_(where) {
  if (coarsest_rows == 0) coarsest_rows = where.on_host() ? 256 : 1024;
  grid_level<C> level{};
  for (int d = 0; d < 3; ++d) {
    level.points[d] = problem.points[d];
    level.last_width[d] = 1;
  }
  stencil<double> of = problem.of;
  choose_axes(level, of);
  levels_.push_back(level);
  while (levels_.back().size() > coarsest_rows) {
    const grid_level<C>& fine = levels_.back();
    level = coarser(fine);
    of = coarser(fine, of);
    choose_axes(level, of);
    levels_.push_back(level);
  }
  operators_ = buffer<level_operator<C>>(where, static_cast<index_type>(levels_.size()));
  for (std::size_t k = 0; k < levels_.size(); ++k) levels_[k].of = operators_.data() + k;
  const index_type n = levels_.back().size();
  inverse_ = buffer<C>(where, n * n);
  set_values(problem.of);
}

template <class C>
void grid_hierarchy<C>::set_values(const stencil<double>& finest) {
  const double diagonal = grid_problem{{}, finest}.diagonal();
  stencil<double> of = finest;
  for (double& axis : of.axis) axis /= diagonal;
  of.shift /= diagonal;
  std::vector<level_operator<C>> operators;
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    if (k > 0) of = coarser(levels_[k - 1], of);
    operators.push_back(rounded<C>(operator_on(levels_[k], of)));
  }
  const small_matrix coarsest(levels_.back(), operator_on(levels_.back(), of));
  const auto offsets = on_place(where_, coarsest.offsets), columns = on_place(where_, coarsest.columns);
  const auto values = on_place(where_, coarsest.values);
  const index_type n = levels_.back().size();
  const buffer<double> work(where_, multigrid::dense_elimination::work_size(n));
  const multigrid::pattern_view pattern{n, n, columns.size(), offsets.data(), columns.data()};
  program_recorder run(where_);
  multigrid::record_dense_inverse(run, multigrid::matrix_view<double>{pattern, values.data()},
                                  std::numeric_limits<double>::epsilon(), work.data(), inverse_.data(),
                                  /*symmetric=*/true);
  program inverting = std::move(run).finish();
  operators_.upload(operators.data());  // what may fail for want of memory has been done
  run_now(std::move(inverting), where_);
}

template class grid_hierarchy<WHILST_NUMBER>;

}  // namespace whilst::geometric_multigrid
