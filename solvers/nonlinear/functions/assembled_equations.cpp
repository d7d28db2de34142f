// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/functions/assembled_equations.hpp"

#include <algorithm>
#include <limits>

#include "solvers/nonlinear/functions/gather_tables.hpp"

namespace whilst {
namespace {

constexpr std::string_view solving_equations = "solving equations";

}  // namespace

template <class T>
struct assembled_equations<T>::implementation {
  struct group {
    std::unique_ptr<block_group<T>> blocks;
    index_type count;
    std::vector<std::int32_t> unknowns, equations;  ///< input after input, output after output
    buffer<std::int32_t> on_place;                  ///< the unknowns
    index_type first_output = 0, first_derivative = 0;
  };
  place where;
  index_type n;
  std::vector<group> groups;
  bool sealed = false, has_pattern = false;
  gather_tables<T> residual, jacobian;
  buffer<std::int32_t> row_offsets, columns;
  buffer<T> values;

  implementation(place on, index_type unknowns) : where(on), n(unknowns) {}

  typename block_group<T>::arrays arrays_of(const group& g) const {
    return {g.count, g.on_place.data(), residual.pieces.data() + g.first_output,
            has_pattern ? jacobian.pieces.data() + g.first_derivative : nullptr};
  }

  /// Builds the tables for F, once all blocks are known.
  void seal() {
    if (sealed) return;
    std::vector<std::int64_t> owner;
    for (group& g : groups) {
      g.first_output = static_cast<index_type>(owner.size());
      g.on_place = copied(where, g.unknowns);
      owner.insert(owner.end(), g.equations.begin(), g.equations.end());
    }
    check_number(owner.size(), solving_equations, "they have", "outputs of blocks");
    const incidence order(owner, n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
      if (order.offsets[i] == order.offsets[i + 1])
        throw error(solving_equations, "no block has an output for equation " + std::to_string(i),
                    "Add one, or leave the equation and an unknown out");
    residual = gather_tables<T>(where, order, owner.size());
    sealed = true;
  }

  /// Builds the tables for the Jacobian, for methods that need one.
  void make_pattern() {
    seal();
    if (has_pattern) return;
    // In the order of the pieces: by output, then input, then block.
    const auto each_piece = [&](const auto& use) {
      for (const group& g : groups)
        for (index_type m = 0; m < g.blocks->equations_a_block(); ++m)
          for (index_type k = 0; k < g.blocks->unknowns_a_block(); ++k)
            for (index_type e = 0; e < g.count; ++e)
              use(g.equations[static_cast<std::size_t>(m * g.count + e)],
                  g.unknowns[static_cast<std::size_t>(k * g.count + e)]);
    };
    std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(n));
    each_piece([&](std::int32_t i, std::int32_t j) {
      if (i >= 0 && j >= 0) rows[static_cast<std::size_t>(i)].push_back(j);
    });
    std::vector<std::int32_t> offsets{0}, column;
    for (std::vector<std::int32_t>& row : rows) {
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      column.insert(column.end(), row.begin(), row.end());
      check_number(column.size(), solving_equations, "they have", "entries of the Jacobian");
      offsets.push_back(static_cast<std::int32_t>(column.size()));
    }
    std::vector<std::int64_t> owner;
    each_piece([&](std::int32_t i, std::int32_t j) {
      if (i < 0 || j < 0) {
        owner.push_back(-1);
        return;
      }
      const auto begin = column.begin() + offsets[static_cast<std::size_t>(i)];
      const auto end = column.begin() + offsets[static_cast<std::size_t>(i) + 1];
      owner.push_back(std::lower_bound(begin, end, j) - column.begin());
    });
    check_number(owner.size(), solving_equations, "they have", "derivatives of blocks");
    index_type first = 0;
    for (group& g : groups) {
      g.first_derivative = first;
      first += g.count * g.blocks->unknowns_a_block() * g.blocks->equations_a_block();
    }
    jacobian = gather_tables<T>(where, incidence(owner, static_cast<index_type>(column.size())), owner.size());
    row_offsets = copied(where, offsets);
    columns = copied(where, column);
    values = buffer<T>(where, static_cast<index_type>(column.size()));
    has_pattern = true;
  }
};

template <class T>
assembled_equations<T>::assembled_equations(place where, index_type unknowns) {
  if (unknowns < 1 || unknowns > std::numeric_limits<std::int32_t>::max())
    throw error("making equations", "they have " + std::to_string(unknowns) + " unknowns",
                "Give 1 or more, and fewer than 2^31");
  implementation_ = std::make_unique<implementation>(where, unknowns);
}
template <class T>
assembled_equations<T>::~assembled_equations() = default;
template <class T>
assembled_equations<T>::assembled_equations(assembled_equations&&) noexcept = default;
template <class T>
assembled_equations<T>& assembled_equations<T>::operator=(assembled_equations&&) noexcept = default;

template <class T>
void assembled_equations<T>::add_group(const char* name, std::unique_ptr<block_group<T>> blocks,
                                       std::span<const std::int32_t> unknowns_of_blocks,
                                       std::span<const std::int32_t> equations_of_blocks) {
  implementation& self = *implementation_;
  const std::string doing = "adding blocks '" + std::string(name) + "'";
  if (self.sealed) throw error(doing, "the system is in use already", "Add all blocks before making a solver");
  if (unknowns_of_blocks.empty()) throw error(doing, "there are none", "Give the unknowns of one block or more");
  const auto check = [&](std::span<const std::int32_t> indexes, int a_block, const char* what) {
    const auto each = static_cast<std::size_t>(a_block);
    if (indexes.size() % each != 0)
      throw error(doing, "there are " + std::to_string(indexes.size()) + " indexes of " + what + "s",
                  "Give " + std::to_string(each) + " for each block");
    for (std::size_t k = 0; k < indexes.size(); ++k)
      if (indexes[k] < -1 || indexes[k] >= self.n)
        throw error(doing,
                    "block " + std::to_string(k / each) + " names " + what + " " + std::to_string(indexes[k]) +
                        ", and there are " + std::to_string(self.n),
                    "They count from 0; -1 stands for none");
    return indexes.size() / each;
  };
  const std::size_t count = check(unknowns_of_blocks, blocks->unknowns_a_block(), "unknown");
  const std::size_t outputs = check(equations_of_blocks, blocks->equations_a_block(), "equation");
  if (count != outputs)
    throw error(
        doing,
        "there are unknowns for " + std::to_string(count) + " blocks and equations for " + std::to_string(outputs),
        "Give both for each block");
  self.groups.push_back({std::move(blocks),
                         static_cast<index_type>(count),
                         by_input({unknowns_of_blocks.begin(), unknowns_of_blocks.end()}, count),
                         by_input({equations_of_blocks.begin(), equations_of_blocks.end()}, count),
                         {}});
}

template <class T>
place assembled_equations<T>::where() const {
  return implementation_->where;
}
template <class T>
index_type assembled_equations<T>::unknowns() const {
  return implementation_->n;
}

template <class T>
void assembled_equations<T>::prepare() const {
  implementation_->seal();
}
template <class T>
gathered<T> assembled_equations<T>::evaluate(recorder& run, const T* x) const {
  implementation& self = *implementation_;
  self.seal();
  for (const auto& group : self.groups) group.blocks->evaluate(run, self.arrays_of(group), x);
  return self.residual.view();
}

template <class T>
jacobian_view<T> assembled_equations<T>::jacobian() const {
  implementation& self = *implementation_;
  self.make_pattern();
  return {self.n, self.columns.size(), self.row_offsets.data(), self.columns.data(), self.values.data()};
}

template <class T>
void assembled_equations<T>::make_jacobian(recorder& run, const T* x, const int* wanted) const {
  implementation& self = *implementation_;
  self.make_pattern();
  for (const auto& group : self.groups) group.blocks->differentiate(run, self.arrays_of(group), x, wanted);
  run.step("J", self.columns.size(), gather_entries<T>{self.jacobian.view(), self.values.data(), wanted});
}

template class assembled_equations<float>;
template class assembled_equations<double>;

}  // namespace whilst
