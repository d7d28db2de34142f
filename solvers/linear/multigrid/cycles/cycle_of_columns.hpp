#pragma once

#include "solvers/linear/multigrid/cycles/column_tile.hpp"
#include "solvers/linear/multigrid/cycles/cycle_products.hpp"
#include "solvers/linear/multigrid/hierarchy.hpp"

namespace whilst::multigrid {

/// The vectors of a cycle for several columns, by tiles: of each tile and level r and, behind it, what the next coarser
/// level answers.
template <class C>
class tile_vectors {
 public:
  using tile = column_tile<C>;
  void take_memory(const hierarchy<C>& of, index_type columns, workspace& memory) {
    tiles_ = (columns + tile::columns - 1) / tile::columns;
    of_level_.clear();
    for (const level<C>& here : of.levels()) {
      const index_type entries = here.unknowns() + here.coarse_unknowns();
      of_level_.push_back({memory.take<tile>(tiles_ * entries), here.unknowns(), entries});
    }
  }
  index_type tiles() const { return tiles_; }
  /// From one tile to the next.
  index_type entries(std::size_t k) const { return of_level_[k].entries; }
  tile* residual(std::size_t k) const { return of_level_[k].first; }
  tile* answer(std::size_t k) const { return of_level_[k].first + of_level_[k].rows; }

 private:
  struct vectors {
    tile* first;
    index_type rows, entries;
  };
  index_type tiles_ = 0;
  std::vector<vectors> of_level_;
};

/// A product with a tile, done for all tiles. An index is that of a product's team, which takes one tile after another
/// and reads its part of the matrix once; where there are too few teams for that, so many as `groups` share the tiles.
/// Product has x and put.
template <class C, class Product>
struct for_each_tile {
  static constexpr bool fetches_constants = false;
  static constexpr int blocks_wanted = 2;  // a lane holds as many entries of x as one column's does, of tiles
  Product of_first;
  index_type tiles, x_entries;  ///< x_entries: from one tile to the next
  index_type groups;

  WHILST_HD int lanes_wanted() const { return of_first.lanes_wanted(); }
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return of_first.fetch(own_index(i), team);
  }
  template <class Team, class Fetched>
  WHILST_HD void operator()(index_type i, const Team& team, const Fetched& fetched) const {
    const index_type own = own_index(i);
    for (index_type tile = i - own * groups; tile < tiles; tile += groups) {
      Product product = of_first;
      product.x += tile * x_entries;
      product.put.tile = tile;
      product(own, team, fetched);
    }
  }
  index_type bytes(index_type) const {
    return of_first.bytes(0) + tiles * x_entries * static_cast<index_type>(sizeof(column_tile<C>));
  }

 private:
  /// A division takes as long as the product of a short row.
  WHILST_HD index_type own_index(index_type i) const { return groups == 1 ? i : i / groups; }
};

/// y = A x, tile by tile.
template <class C>
struct put_tile {
  column_tile<C>* y;
  index_type entries;  ///< from one tile to the next
  index_type tile = 0;

  WHILST_HD void operator()(index_type row, const column_tile<C>& sum) const { y[tile * entries + row] = sum; }
  index_type bytes(index_type n) const { return n * static_cast<index_type>(sizeof(column_tile<C>)); }
};
/// y + A x, or y - A x, in place of y, tile by tile.
template <class C>
struct add_tile {
  column_tile<C>* y;
  index_type entries;  ///< from one tile to the next
  bool subtracts;
  index_type tile = 0;

  WHILST_HD void operator()(index_type row, const column_tile<C>& sum) const {
    column_tile<C>& to = y[tile * entries + row];
    for (int j = 0; j < column_tile<C>::columns; ++j)
      to.value[j] = subtracts ? to.value[j] - sum.value[j] : to.value[j] + sum.value[j];
  }
  index_type bytes(index_type n) const { return 2 * n * static_cast<index_type>(sizeof(column_tile<C>)); }
};
/// Z = *factor A x, column after column.
template <class T, class C>
struct put_whole_columns {
  T* Z;
  index_type rows, columns;
  const double* factor;
  index_type tile = 0;

  WHILST_HD void operator()(index_type row, const column_tile<C>& sum) const {
    for (int j = 0; j < column_tile<C>::columns; ++j)
      if (const index_type column = tile * column_tile<C>::columns + j; column < columns)
        Z[column * rows + row] = static_cast<T>(*factor * static_cast<double>(sum.value[j]));
  }
  index_type bytes(index_type n) const { return n * columns * static_cast<index_type>(sizeof(T)); }
};
/// Columns in the cycle's numbers, tile by tile; 0 beyond the last column.
template <class T, class C>
struct tiles_of_columns {
  const T* R;
  index_type rows, columns;
  column_tile<C>* tiles;
  index_type entries;  ///< from one tile to the next

  WHILST_HD void operator()(index_type i) const {
    const index_type tile = i / rows, row = i % rows;
    column_tile<C> made(0);
    for (int j = 0; j < column_tile<C>::columns; ++j)
      if (const index_type column = tile * column_tile<C>::columns + j; column < columns)
        made.value[j] = static_cast<C>(R[column * rows + row]);
    tiles[tile * entries + row] = made;
  }
  index_type bytes(index_type n) const {
    return rows * columns * static_cast<index_type>(sizeof(T)) + n * static_cast<index_type>(sizeof(column_tile<C>));
  }
};

/// Records Z = *factor B R for so many columns, which lie one after another: the cycle of record_cycle, whose steps are
/// for all columns, so that these are as many as for one, and matrices are read from memory once. Each column has the
/// sums that it has alone, in the same order.
template <class T, class C>
void record_cycle_of_columns(recorder& run, const hierarchy<C>& of, const tile_vectors<C>& vectors, index_type columns,
                             const T* R, T* Z, const double* factor) {
  using X = const column_tile<C>*;
  const auto& levels = of.levels();
  const std::size_t last = levels.size() - 1;
  const index_type n = levels.front().unknowns(), tiles = vectors.tiles();
  const bool on_host = run.where().on_host();
  const auto step = [&](const char* name, index_type count, std::size_t k, const auto& product) {
    using Product = std::remove_cvref_t<decltype(product)>;
    constexpr index_type enough_teams = 4096;  // for a large GPU
    const index_type groups = count >= enough_teams ? 1 : tiles;
    run.step(name, count * groups, for_each_tile<C, Product>{product, tiles, vectors.entries(k), groups});
  };
  const auto product_of = [&](const char* name, std::size_t k, const interleaved_rows<C>& A, X x, const auto& put) {
    using Put = std::remove_cvref_t<decltype(put)>;
    step(name, on_host ? A.pattern.rows : A.warps(), k, interleaved_product<C, X, Put>{A, x, put});
  };
  const auto product = [&](const char* name, std::size_t k, const interleaved_rows<C>& A, const auto& put) {
    product_of(name, k, A, vectors.residual(k), put);
  };
  const auto up = [&](std::size_t k, const auto& put) {
    using Put = std::remove_cvref_t<decltype(put)>;
    const index_type rows = levels[k].unknowns();
    if (k == last && of.has_inverse()) {
      step("the coarsest level", rows, k, inverse_product<C, X, Put>{rows, of.inverse(), vectors.residual(k), put});
    } else {
      product("up: S R + Q E", k, levels[k].up, put);
    }
  };
  run.step("R in the cycle's numbers", n * tiles,
           tiles_of_columns<T, C>{R, n, columns, vectors.residual(0), vectors.entries(0)});
  const auto down_from = [&](std::size_t first) {
    for (std::size_t k = first; k < last; ++k)
      product("down: W R", k, levels[k].down, put_tile<C>{vectors.residual(k + 1), vectors.entries(k + 1)});
  };
  const auto up_to_coarser = [&](std::size_t k) { up(k, put_tile<C>{vectors.answer(k - 1), vectors.entries(k - 1)}); };
  down_from(0);
  for (std::size_t k = last; k > 0; --k) {
    up_to_coarser(k);
    if (k != of.plan().revisited) continue;
    product_of("R -= A E", k - 1, levels[k].whole, vectors.answer(k - 1),
               add_tile<C>{vectors.residual(k), vectors.entries(k), /*subtracts=*/true});
    down_from(k);
    for (std::size_t j = last; j > k; --j) up_to_coarser(j);
    up(k, add_tile<C>{vectors.answer(k - 1), vectors.entries(k - 1), /*subtracts=*/false});
  }
  up(0, put_whole_columns<T, C>{Z, n, columns, factor});
}

}  // namespace whilst::multigrid
