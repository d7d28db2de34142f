// compiled by nvcc where CUDA is on

// The steps of token_loop on every executor: they read ahead, so their bits must not depend on who is late.

#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "apps/token_loop/steps.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/under_sanitizers.hpp"

namespace {

using whilst::index_type;
using whilst::token_loop::generation_memory;
using whilst::token_loop::model_size;
using whilst::token_loop::output;
using whilst::token_loop::quad;

struct recorded_generation {
  model_size size;
  whilst::buffer<quad> weights, x, h;
  whilst::buffer<output> chosen, outputs;
  whilst::buffer<index_type> end_token;
  whilst::buffer<whilst::control> loop;

  recorded_generation(whilst::place where, const model_size& s, index_type tokens)
      : size(s),
        weights(where, s.entries() / 4),
        x(where, s.dimension / 4),
        h(where, s.dimension / 4),
        chosen(where, 1),
        outputs(where, tokens),
        end_token(where, 1),
        loop(where, 1) {
    std::vector<quad> made(static_cast<std::size_t>(weights.size()));
    for (index_type k = 0; k < s.entries(); ++k)
      made[static_cast<std::size_t>(k / 4)].value[k % 4] = weight(s, scales_of(s), k);
    weights.upload(made.data());
  }
  whilst::program record(whilst::place where) {
    const generation_memory at{weights.data(), x.data(),         h.data(),   chosen.data(),
                               outputs.data(), end_token.data(), loop.data()};
    whilst::program_recorder record(where);
    record_first(record, size, at);
    record.loop("tokens", loop.data(), [&](auto& run) {
      record_token(run, size, at, whilst::token_loop::test_for_end{end_token.data(), chosen.data(), outputs.data()});
    });
    record.parameter(&loop.data()->settings, whilst::control_settings{.limit = outputs.size()});
    record.parameter(end_token.data(), index_type{-1});
    return std::move(record).finish();
  }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all(static_cast<std::size_t>(outputs.size()) * sizeof(output) +
                               static_cast<std::size_t>(x.size()) * sizeof(quad));
    const std::vector<output> made = whilst_test::values(outputs);
    const std::vector<quad> last = whilst_test::values(x);
    std::memcpy(all.data(), made.data(), made.size() * sizeof(output));
    std::memcpy(all.data() + made.size() * sizeof(output), last.data(), last.size() * sizeof(quad));
    return all;
  }
};

}  // namespace

TEST_CASE("token_loop's steps make the same bits however they overlap", "[sanitizer]") {
  constexpr whilst::index_type tokens = 7;
  for (const whilst::index_type dimension : {12, 256, 520}) {
    for (const whilst_test::way& how : whilst_test::ways()) {
      recorded_generation generation(how.where, {dimension, 2}, tokens);
      whilst::program program = generation.record(how.where);
      std::vector<std::byte> expected;
      for (const int unroll : {1, 3, 0}) {
        for (const bool programmatic : {false, true}) {
          for (const unsigned seed : {0u, 1u, 77u}) {
            if (whilst_test::under_sanitizers && programmatic != (seed == 1)) continue;  // each of them once
            INFO(how.name << ", dimension " << dimension << ", unroll " << unroll << ", programmatic " << programmatic
                          << ", seed " << seed);
            generation.outputs.upload(std::vector<output>(tokens).data());
            program.prepare(
                {.how = how.how, .unroll = unroll, .programmatic_launch = programmatic, .delay_seed = seed});
            whilst_test::run(program);
            CHECK(whilst_test::value(generation.loop).iteration == tokens);
            if (expected.empty()) expected = generation.bytes();
            CHECK(generation.bytes() == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("token_loop ends where an output is not a number") {
  for (const whilst_test::way& how : whilst_test::ways()) {
    recorded_generation generation(how.where, {64, 1}, 9);
    std::vector<quad> weights = whilst_test::values(generation.weights);
    weights[5].value[2] = std::numeric_limits<float>::quiet_NaN();  // in W1: then all entries of the output are so
    generation.weights.upload(weights.data());
    whilst::program program = generation.record(how.where);
    program.prepare({.how = how.how});
    whilst_test::run(program);
    INFO(how.name);
    const whilst::control end = whilst_test::value(generation.loop);
    CHECK(end.why == whilst::reason::nan_or_infinity);
    CHECK(end.iteration == 1);
    CHECK(whilst_test::value(generation.outputs).token == 0);
  }
}
