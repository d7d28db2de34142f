#pragma once

/// The steps of a token: two per layer, one to choose.
///
/// A layer is x += W2 silu(W1 x / rms(x)), silu(u) = u / (1 + exp(-u)), rms(x) = sqrt(mean(x^2) + epsilon): root mean
/// square norm, product, product, residual. The norm needs no step and no sum over the grid: multiplying a row by x
/// reads all of x anyway, so it adds up the squares on the way and divides the product.

#include <cmath>
#include <string>

#include "weights.hpp"
#include "whilst/control.hpp"
#include "whilst/teams.hpp"
#include "whilst/views.hpp"

namespace whilst::token_loop {

WHILST_HD inline quad read_constant_quad(const quad* address) {
#if defined(__CUDA_ARCH__)
  const float4 all = __ldg(reinterpret_cast<const float4*>(address));
  return {all.x, all.y, all.z, all.w};
#else
  return *address;
#endif
}
WHILST_HD inline float total(const quad& q) { return (q.value[0] + q.value[1]) + (q.value[2] + q.value[3]); }
WHILST_HD inline float root_mean_square(float sum_of_squares, index_type dimension) {
  return std::sqrt(sum_of_squares / static_cast<float>(dimension) + norm_epsilon);
}

/// A row of a matrix times a vector, by the lanes of a warp. A lane loads `held` quads of the row at once, all in
/// flight before it waits for the first, and the first before the previous step has ended: nobody writes weights.
template <int held_on_device>
struct row_product {
  static constexpr bool fetches_constants = false;
  static constexpr int held = on_device ? held_on_device : 1;
  const quad* matrix;
  int quads;  ///< of a row

  struct piece {
    quad part[held];
  };
  /// A lane's share.
  struct share {
    quad product, squares;  ///< of row and vector; of the vector with itself
  };

  template <class Team>
  WHILST_HD piece fetch(index_type i, const Team& team) const {
    return load(i, 0, team);
  }
  template <class Team>
  WHILST_HD share times(index_type i, piece row, const quad* x, const Team& team) const {
    share sum{};
    add(sum, row, x, 0, team);
    WHILST_ROLLED
    for (int first = held * team.size(); first < quads; first += held * team.size()) {
      row = load(i, first, team);
      add(sum, row, x, first, team);
    }
    return sum;
  }

 private:
  /// The lane's k-th quad of a piece; past the row's end its last one, which is then ignored. So no branch separates
  /// the reads.
  template <class Team>
  WHILST_HD int inside(int first, int k, const Team& team) const {
    const int j = first + k * team.size() + team.rank();
    return j < quads ? j : quads - 1;
  }
  template <class Team>
  WHILST_HD piece load(index_type i, int first, const Team& team) const {
    const quad* const row = matrix + i * quads;
    piece loaded;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < held; ++k) loaded.part[k] = read_constant_quad(row + inside(first, k, team));
    return loaded;
  }
  template <class Team>
  WHILST_HD void add(share& sum, const piece& row, const quad* x, int first, const Team& team) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < held; ++k) {
      const int j = first + k * team.size() + team.rank();
      const quad read = x[inside(first, k, team)];
      for (int c = 0; c < 4; ++c) {
        const float v = j < quads ? read.value[c] : 0.0f;
        sum.product.value[c] += row.part[k].value[c] * v;
        sum.squares.value[c] += v * v;
      }
    }
  }
};

/// h = silu(W1 x / rms(x)).
template <int held>
struct expand {
  static constexpr int blocks_wanted = 4;  // this step's and the next one's, which prefetches
  static constexpr bool fetches_constants = true;
  row_product<held> W1;
  const quad* x;
  quad* h;

  WHILST_HD int lanes_wanted() const { return 32; }
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return W1.fetch(i, team);
  }
  template <class Team>
  WHILST_HD float read(index_type i, const Team& team, const typename row_product<held>::piece& row) const {
    const auto share = W1.times(i, row, x, team);
    const auto of_row = team.sum(sums{total(share.product), total(share.squares)});
    const float u = of_row[0] / root_mean_square(of_row[1], 4 * W1.quads);
    return u / (1.0f + std::exp(-u));
  }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team, float value) const {
    if (team.rank() == 0) entry(h, i) = value;
  }
};

/// x += W2 h.
template <int held>
struct contract {
  static constexpr int blocks_wanted = 4;
  static constexpr bool fetches_constants = true;
  row_product<held> W2;
  const quad* h;
  quad* x;

  WHILST_HD int lanes_wanted() const { return 32; }
  template <class Team>
  WHILST_HD auto fetch(index_type i, const Team& team) const {
    return W2.fetch(i, team);
  }
  template <class Team>
  WHILST_HD float read(index_type i, const Team& team, const typename row_product<held>::piece& row) const {
    const float before = entry(x, i);
    return before + team.sum(total(W2.times(i, row, h, team).product));
  }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team, float value) const {
    if (team.rank() == 0) entry(x, i) = value;
  }
};

/// The result of a token.
struct output {
  int token;
  float value;  ///< its entry in the normalized output, the largest
};

/// The one with the larger value; of equals the earlier one. NaN is never larger.
WHILST_HD inline output larger(const output& a, const output& b) {
  return b.value > a.value || (b.value == a.value && b.token < a.token) ? b : a;
}

/// The output is y = x / rms(x), the token the position of its largest entry; the next token starts from
/// x = kept y + added (the token's embedding + its position's). By one block.
struct choose {
  static constexpr bool whole_block = true;
  int quads;
  const quad* embedding;
  const control* loop;  ///< counts the previous tokens
  quad* x;
  output* chosen;

  int threads_wanted() const { return quads < 512 ? (quads + 31) / 32 * 32 : 512; }
  index_type fast_memory_bytes() const { return threads_wanted() * static_cast<index_type>(sizeof(output)); }

  template <class Team>
  WHILST_HD void operator()(index_type, const Team& team) const {
    float squares = 0;
    output best{0, -HUGE_VALF};
    for (int j = team.rank(); j < quads; j += team.size()) {
      const quad v = x[j];
      for (int c = 0; c < 4; ++c) {
        squares += v.value[c] * v.value[c];
        best = larger(best, {4 * j + c, v.value[c]});
      }
    }
    const float rms = root_mean_square(team.sum(squares), 4 * quads);
    best = largest_of_team(best, team);
    const index_type position = (loop->iteration + 1) % (4 * quads);
    for (int j = team.rank(); j < quads; j += team.size()) {
      const quad token = read_constant_quad(embedding + static_cast<index_type>(best.token) * quads + j);
      const quad place = read_constant_quad(embedding + position * quads + j);
      // Named roundings, so that every kernel with this code gives the same bits.
      for (int c = 0; c < 4; ++c)
        x[j].value[c] = std::fma(added, token.value[c] + place.value[c], kept * (x[j].value[c] / rms));
    }
    if (team.rank() == 0) *chosen = {best.token, best.value / rms};
  }

 private:
  template <class Team>
  WHILST_HD static output largest_of_team(output mine, const Team& team) {
    if (team.size() == 1) return mine;
    auto* const all = static_cast<output*>(team.fast_memory());
    all[team.rank()] = mine;
    for (int count = team.size(); count > 1;) {
      const int half = (count + 1) / 2;
      team.sync();
      if (team.rank() + half < count) all[team.rank()] = larger(all[team.rank()], all[team.rank() + half]);
      count = half;
    }
    team.sync();
    return all[0];
  }
};

/// The test after each token: the end-of-sequence token was chosen (reason::completed), an output is not finite, or the
/// limit is reached.
struct test_for_end {
  const index_type* end_token;  ///< negative: none
  const output* chosen;
  output* outputs;  ///< of all tokens so far

  WHILST_HD void operator()(loop_state& loop) const {
    const output made = *chosen;
    outputs[loop.iteration] = made;
    loop.updating = 1;
    loop.complete_update();
    if (made.token == *end_token) {
      loop.stop(reason::completed);
    } else if (!is_finite(made.value)) {
      loop.stop(reason::nan_or_infinity);
    } else {
      loop.check();
    }
  }
};

/// x = the first token's embedding.
struct embed_first {
  int quads;
  const quad* embedding;
  quad* x;
  WHILST_HD void operator()(index_type j) const { x[j] = embedding[first_token * quads + j]; }
};

/// The memory of a generation. weights: see model_size.
struct generation_memory {
  quad *weights, *x, *h;
  output *chosen, *outputs;
  index_type* end_token;
  control* loop;
};

template <int held, class Run>
void record_layers(Run& run, const model_size& size, const generation_memory& at) {
  const int quads = static_cast<int>(size.dimension / 4);
  const auto matrix = [&](index_type m) { return at.weights + m * size.dimension * quads; };
  for (index_type layer = 0; layer < size.layers; ++layer) {
    const std::string of_layer = " (layer " + std::to_string(layer + 1) + ")";
    run.step(("h = silu(W1 x / rms(x))" + of_layer).c_str(), size.dimension,
             expand<held>{{matrix(2 * layer), quads}, at.x, at.h});
    run.step(("x += W2 h" + of_layer).c_str(), size.dimension,
             contract<held>{{matrix(2 * layer + 1), quads}, at.h, at.x});
  }
}

/// Records the steps of one token, `finish` on the last. Run: any recorder.
template <class Run, class Finish>
void record_token(Run& run, const model_size& size, const generation_memory& at, const Finish& finish) {
  // As many as a short row has, since each instruction counts in a small step; otherwise what registers allow.
  size.dimension <= 256 ? record_layers<2>(run, size, at) : record_layers<8>(run, size, at);
  const int quads = static_cast<int>(size.dimension / 4);
  run.team("choose the token, x = kept y + added (embeddings)", 1,
           choose{quads, at.weights + 2 * size.layers * size.dimension * quads, at.loop, at.x, at.chosen}, finish);
}

/// Records the start from the first token.
template <class Run, class... Finish>
void record_first(Run& run, const model_size& size, const generation_memory& at, const Finish&... finish) {
  const int quads = static_cast<int>(size.dimension / 4);
  run.step("x = embedding of the first token", quads,
           embed_first{quads, at.weights + 2 * size.layers * size.dimension * quads, at.x}, finish...);
}

}  // namespace whilst::token_loop
