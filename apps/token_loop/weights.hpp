#pragma once

/// The model's weights: their sizes, layout and values.

#include <cmath>
#include <cstdint>

#include "whilst/basics/index_type.hpp"
#include "whilst/host_device.hpp"

namespace whilst::token_loop {

/// Four neighbouring numbers, which a GPU reads at once.
struct alignas(16) quad {
  float value[4];
};

/// Entry i of a vector of quads.
WHILST_HD inline float& entry(quad* vector, index_type i) { return vector[i / 4].value[i % 4]; }

/// A number from [-1, 1), the same on every machine: the k-th output of SplitMix64 (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", 2014), of which 24 bits are used, so that nothing is rounded.
WHILST_HD inline float noise(std::uint64_t k) {
  std::uint64_t z = (k + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<float>(z >> 40) * 0x1p-23f - 1.0f;
}

/// A model of L layers with vectors of d numbers. Its matrices are d x d, row by row, one after another: two for each
/// layer, then the embedding, whose row k is the vector of token k, so the vocabulary has d tokens; and of position k.
struct model_size {
  index_type dimension = 0;  ///< d, a multiple of 4
  index_type layers = 0;     ///< L

  WHILST_HD index_type matrices() const { return 2 * layers + 1; }
  WHILST_HD index_type entries_of_matrix() const { return dimension * dimension; }
  WHILST_HD index_type entries() const { return matrices() * entries_of_matrix(); }
  /// What a token must read: the layers' matrices.
  double bytes_a_token() const {
    return static_cast<double>(2 * layers) * static_cast<double>(entries_of_matrix()) * sizeof(float);
  }
};

/// The factor on the noise in each kind of matrix, so that values neither vanish nor explode: noise has variance 1/3.
struct weight_scales {
  float embedding;  ///< entries of variance 1
  float expand;     ///< a product with a vector of unit variance has unit variance
  float contract;   ///< silu of that has a mean square near 1/3, so all layers together add about a variance of 1
};
inline weight_scales scales_of(const model_size& size) {
  const double d = static_cast<double>(size.dimension), layers = static_cast<double>(size.layers);
  return {static_cast<float>(std::sqrt(3.0)), static_cast<float>(std::sqrt(3.0 / d)),
          static_cast<float>(std::sqrt(3.0 * 3.0 / (d * layers)))};
}

/// Entry k, counted through all the matrices.
WHILST_HD inline float weight(const model_size& size, const weight_scales& scales, index_type k) {
  const index_type matrix = k / size.entries_of_matrix();
  const float scale = matrix == 2 * size.layers ? scales.embedding : matrix % 2 == 0 ? scales.expand : scales.contract;
  return scale * noise(static_cast<std::uint64_t>(k));
}

/// Weights of the last output, and of each of the two embeddings added, in what the next token starts from. Their
/// squares, the second one's twice, add up to nearly 1, so the variance stays; and the first is small enough that
/// rounding errors fade instead of growing from token to token.
inline constexpr float kept = 0.6f, added = 0.56f;
/// Inside the root of the mean square that a vector is divided by.
inline constexpr float norm_epsilon = 1e-5f;
/// The token that every generation starts from.
inline constexpr index_type first_token = 1;

}  // namespace whilst::token_loop
