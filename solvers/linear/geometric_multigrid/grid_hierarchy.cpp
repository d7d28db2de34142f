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
  for (int d = 0; d < 3; ++d) {
    level.coarsens[d] = level.points[d] > 1 && of.axis[d] >= strong * strongest;
    level.coarse_points[d] = level.coarsens[d] ? level.points[d] / 2 : level.points[d];
    level.first_red ^= level.coarsens[d];  // points of the coarser grid are red, if all axes have fewer
  }
}

/// A small grid's operator as a sparse matrix.
struct small_matrix {
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<double> values;

  template <class C>
  small_matrix(const grid_level<C>& level, const stencil<double>& of) {
    grid_level<double> grid;
    for (int d = 0; d < 3; ++d) {
      grid.points[d] = level.points[d];
      grid.last_width[d] = static_cast<double>(level.last_width[d]);
    }
    grid.of = &of;
    for (int z = 0; z < grid.points[2]; ++z)
      for (int y = 0; y < grid.points[1]; ++y)
        for (int x = 0; x < grid.points[0]; ++x) append_row(grid, x, y, z);
  }

 private:
  void append(index_type column, double value) {
    columns.push_back(static_cast<std::int32_t>(column));
    values.push_back(value);
  }
  void append_row(const grid_level<double>& grid, int x, int y, int z) {
    const int at[3] = {x, y, z};
    const index_type own = grid.index(x, y, z), stride[3] = {1, grid.points[0], grid.index(0, 0, 1)};
    for (int d = 2; d >= 0; --d)
      if (at[d] > 0) append(own - stride[d], -grid.link(d, x, y, z));
    append(own, grid.diagonal(x, y, z));
    for (int d = 0; d < 3; ++d)
      if (at[d] < grid.points[d] - 1) append(own + stride[d], -grid.link(d, x, y, z));
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
  stencils_ = buffer<stencil<C>>(where, static_cast<index_type>(levels_.size()));
  for (std::size_t k = 0; k < levels_.size(); ++k) levels_[k].of = stencils_.data() + k;
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
  std::vector<stencil<C>> rounded;
  for (std::size_t k = 0; k < levels_.size(); ++k) {
    if (k > 0) of = coarser(levels_[k - 1], of);
    rounded.push_back({{static_cast<C>(of.axis[0]), static_cast<C>(of.axis[1]), static_cast<C>(of.axis[2])},
                       static_cast<C>(of.shift)});
  }
  stencils_.upload(rounded.data());

  const small_matrix coarsest(levels_.back(), of);
  const auto offsets = on_place(where_, coarsest.offsets), columns = on_place(where_, coarsest.columns);
  const auto values = on_place(where_, coarsest.values);
  const index_type n = levels_.back().size();
  const buffer<double> work(where_, multigrid::dense_elimination::work_size(n));
  const multigrid::pattern_view pattern{n, n, columns.size(), offsets.data(), columns.data()};
  program_recorder run(where_);
  multigrid::record_dense_inverse(run, multigrid::matrix_view<double>{pattern, values.data()},
                                  std::numeric_limits<double>::epsilon(), work.data(), inverse_.data(),
                                  /*symmetric=*/true);
  run_now(std::move(run).finish(), where_);
}

template class grid_hierarchy<WHILST_NUMBER>;

}  // namespace whilst::geometric_multigrid
