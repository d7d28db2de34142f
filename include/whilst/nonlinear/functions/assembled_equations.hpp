#pragma once

/// @file
/// Systems of equations assembled from blocks, as in finite elements. With CUDA on, compile files that include this
/// with nvcc.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "whilst/derivatives/dual.hpp"
#include "whilst/nonlinear/functions/equations.hpp"
#include "whilst/nonlinear/functions/named_group.hpp"

namespace whilst {

/// Blocks of one kind, as assembled_equations holds them.
template <class T>
class block_group : public detail::named_group {
 public:
  /// Arrays on the place.
  struct arrays {
    index_type blocks;
    const std::int32_t* unknowns;  ///< of (block e, input k) at k * blocks + e; -1: none, the block reads 0 there
    T* outputs;                    ///< of (block e, output m) at m * blocks + e
    T* derivatives;                ///< of output m by input k at (m * K + k) * blocks + e; null if not needed
  };
  virtual int unknowns_a_block() const = 0;
  virtual int equations_a_block() const = 0;
  virtual void evaluate(recorder& run, const arrays& on_place, const T* x) const = 0;
  virtual void differentiate(recorder& run, const arrays& on_place, const T* x, const int* wanted) const = 0;

 protected:
  using named_group::named_group;
};

namespace detail {

template <class T, class Block>
struct evaluate_blocks {
  static constexpr bool fetches_constants = true;
  static constexpr int K = Block::unknowns, M = Block::equations;
  Block block;
  typename block_group<T>::arrays on_place;
  const T* x;

  struct indexes {
    std::int32_t of[K];
  };
  template <class Team>
  WHILST_HD indexes fetch(index_type e, const Team&) const {
    indexes unknown;
    for (int k = 0; k < K; ++k) unknown.of[k] = read_constant(on_place.unknowns + k * on_place.blocks + e);
    return unknown;
  }
  struct inputs {
    T of[K];
  };
  template <class Team>
  WHILST_HD inputs read(index_type, const Team&, const indexes& unknown) const {
    inputs read;
    for (int k = 0; k < K; ++k) read.of[k] = unknown.of[k] >= 0 ? x[unknown.of[k]] : T(0);
    return read;
  }
  WHILST_HD void operator()(index_type e, const inputs& at) const {
    T outputs[M];
    block(e, static_cast<const T*>(at.of), static_cast<T*>(outputs));
    for (int m = 0; m < M; ++m) on_place.outputs[m * on_place.blocks + e] = outputs[m];
  }
};

template <class T, class Block>
struct differentiate_blocks {
  static constexpr int K = Block::unknowns, M = Block::equations;
  using number = dual<T, K>;
  Block block;
  typename block_group<T>::arrays on_place;
  const T* x;
  const int* wanted;

  WHILST_HD void operator()(index_type e) const {
    if (!*wanted) return;
    number inputs[K], outputs[M];
    for (int k = 0; k < K; ++k) {
      const std::int32_t unknown = on_place.unknowns[k * on_place.blocks + e];
      inputs[k] = unknown >= 0 ? number::variable(x[unknown], k) : number(0);
    }
    block(e, static_cast<const number*>(inputs), static_cast<number*>(outputs));
    for (int m = 0; m < M; ++m)
      for (int k = 0; k < K; ++k) on_place.derivatives[(m * K + k) * on_place.blocks + e] = outputs[m].gradient[k];
  }
};

template <class T, class Block>
class group_of_blocks final : public block_group<T> {
 public:
  using typename block_group<T>::arrays;
  group_of_blocks(const char* name, const Block& block) : block_group<T>(name), block_(block) {}
  int unknowns_a_block() const override { return Block::unknowns; }
  int equations_a_block() const override { return Block::equations; }
  void evaluate(recorder& run, const arrays& on_place, const T* x) const override {
    run.step(this->title("F of ").c_str(), on_place.blocks, evaluate_blocks<T, Block>{block_, on_place, x});
  }
  void differentiate(recorder& run, const arrays& on_place, const T* x, const int* wanted) const override {
    run.step(this->title("Jacobians of ").c_str(), on_place.blocks,
             differentiate_blocks<T, Block>{block_, on_place, x, wanted});
  }

 private:
  Block block_;
};

}  // namespace detail

/// A system F(x) = 0 of n equations in n unknowns, assembled from blocks of one kind or several: each takes a few
/// unknowns as inputs, and its outputs are added to a few of the equations. A block is a trivially copyable functor;
/// its pointers point to memory of the place:
/// @code
///   struct resistor {                                        // between two nodes of a network
///     static constexpr int unknowns = 2, equations = 2;      // K inputs, M outputs: from 1 to 16 or so
///     const double* conductance;
///     template <class S>
///     WHILST_HD void operator()(whilst::index_type e, const S* x, S* r) const {   // block e: sets all M outputs
///       const S current = conductance[e] * (x[0] - x[1]);
///       r[0] = current;
///       r[1] = -current;
///     }
///   };
///   whilst::assembled_equations<double> F(whilst::place::host(), 3);
///   std::vector<std::int32_t> nodes{0, 1, 1, 2};                 // K indices per block
///   F.add("resistors", resistor{conductance}, nodes, nodes);     // unknowns, and the equations that outputs go to
/// @endcode
/// Dual numbers give the Jacobian, M x K entries per block. Results are gathered by equation, and by entry of the
/// Jacobian, in a fixed order: bitwise the same each time. An equation shared by very many blocks is therefore slow on
/// a GPU. The system holds the results of its evaluations: solvers that run concurrently need systems of their own.
template <class T>
class assembled_equations final : public equations<T> {
 public:
  /// Throws whilst::error if there are no unknowns, or more than 32-bit indices can address.
  assembled_equations(place where, index_type unknowns);
  ~assembled_equations() override;
  assembled_equations(assembled_equations&&) noexcept;
  assembled_equations& operator=(assembled_equations&&) noexcept;

  /// Adds blocks: Block::unknowns input indices and Block::equations output indices for each, block after block. -1
  /// stands for none: an input that is 0, an output that is dropped. Throws whilst::error on indices out of range, on
  /// index counts that disagree, and once a solver has been made of the system.
  template <class Block>
  void add(const char* name, const Block& block, std::span<const std::int32_t> unknowns_of_blocks,
           std::span<const std::int32_t> equations_of_blocks) {
    static_assert(std::is_trivially_copyable_v<Block>, "blocks are copied to the device byte by byte");
    static_assert(Block::unknowns >= 1, "a block has an input or more: -1 stands for one that is 0");
    static_assert(Block::equations >= 1, "a block has an output or more");
    add_group(name, std::unique_ptr<block_group<T>>(new detail::group_of_blocks<T, Block>(name, block)),
              unknowns_of_blocks, equations_of_blocks);
  }
  template <class Block>
  void add(const char* name, const Block& block, const std::vector<std::int32_t>& unknowns_of_blocks,
           const std::vector<std::int32_t>& equations_of_blocks) {
    add(name, block, std::span<const std::int32_t>(unknowns_of_blocks),
        std::span<const std::int32_t>(equations_of_blocks));
  }

  place where() const override;
  index_type unknowns() const override;
  /// Throws whilst::error if an equation has no block.
  void prepare() const override;
  gathered<T> evaluate(recorder& run, const T* x) const override;
  bool has_jacobian() const override { return true; }
  jacobian_view<T> jacobian() const override;
  void make_jacobian(recorder& run, const T* x, const int* wanted) const override;

 private:
  void add_group(const char* name, std::unique_ptr<block_group<T>> group,
                 std::span<const std::int32_t> unknowns_of_blocks, std::span<const std::int32_t> equations_of_blocks);
  struct implementation;
  std::unique_ptr<implementation> implementation_;
};

extern template class assembled_equations<float>;
extern template class assembled_equations<double>;

}  // namespace whilst
