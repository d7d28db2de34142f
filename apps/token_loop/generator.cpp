// compiled by nvcc where CUDA is on
#include "generator.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "token_launch.hpp"

namespace whilst::token_loop {
namespace {

struct make_weights {
  model_size size;
  weight_scales scales;
  quad* weights;
  WHILST_HD void operator()(index_type j) const {
    for (int c = 0; c < 4; ++c) weights[j].value[c] = weight(size, scales, 4 * j + c);
  }
};

/// Adds up quads, several at a time, with their reads in flight together.
struct add_up {
  static constexpr int at_once = 8;
  const quad* weights;
  index_type count;  ///< of quads

  WHILST_HD index_type indexes() const { return (count + at_once - 1) / at_once; }
  WHILST_HD sums<float, 1> operator()(index_type i) const {
    quad read[at_once];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < at_once; ++k) {
      const index_type j = k * indexes() + i;
      read[k] = j < count ? read_constant_quad(weights + j) : quad{};
    }
    float sum = 0;
    for (int k = 0; k < at_once; ++k) sum += total(read[k]);
    return {{sum}};
  }
};
struct keep_total {
  float* kept;
  WHILST_HD void operator()(const sums<float, 1>& all, loop_state& loop) const {
    *kept = all[0];
    count_iteration{}(loop);
  }
};

/// For a program of one token's steps: the same test, on a control that no loop of the program uses, for the host to
/// read.
struct test_for_host {
  test_for_end test;
  control* loop;
  WHILST_HD void operator()() const { test(*loop); }
};
struct arm_for_host {
  control* loop;
  WHILST_HD void operator()() const {
    loop->arm(true);
    loop->open();
  }
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace

std::string_view name(way how) {
  constexpr std::string_view names[] = {"plain", "serial-token", "token", "whole"};
  return names[static_cast<int>(how)];
}

bool same(const generated& a, const generated& b) {
  const auto same_bytes = [](const auto& left, const auto& right) {
    return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size() * sizeof(left[0])) == 0;
  };
  return a.why == b.why && same_bytes(a.outputs, b.outputs) && same_bytes(a.x, b.x);
}

generator::generator(place where, const model_size& size, index_type most_tokens)
    : where_(where),
      size_(size),
      weights_(where, size.entries() / 4),
      x_(where, size.dimension / 4),
      h_(where, size.dimension / 4),
      chosen_(where, 1),
      outputs_(where, most_tokens),
      end_token_(where, 1),
      loop_(where, 1),
      at_{weights_.data(), x_.data(), h_.data(), chosen_.data(), outputs_.data(), end_token_.data(), loop_.data()} {
  program_recorder record(where);
  record.step("weights", weights_.size(), make_weights{size, scales_of(size), weights_.data()});
  program make = std::move(record).finish();
  make.prepare({.how = where.on_host() ? executor::host : executor::stream});
  make.enqueue(nullptr);
  make.wait();
}
generator::~generator() = default;

generator::looping generator::record_whole() {
  program_recorder record(where_);
  record_first(record, size_, at_);
  record.loop("tokens", loop_.data(), [&](auto& run) {
    record_token(run, size_, at_, test_for_end{end_token_.data(), chosen_.data(), outputs_.data()});
  });
  const auto settings = record.parameter(&loop_.data()->settings, control_settings{});
  const auto end_token = record.parameter(end_token_.data(), index_type{-1});
  return {std::move(record).finish(), settings, end_token};
}

generator::looping generator::record_start() {
  program_recorder record(where_);
  record_first(record, size_, at_, arm_for_host{loop_.data()});
  const auto settings = record.parameter(&loop_.data()->settings, control_settings{});
  const auto end_token = record.parameter(end_token_.data(), index_type{-1});
  return {std::move(record).finish(), settings, end_token};
}

std::unique_ptr<generator::looping>& generator::prepared(way how) {
  const bool on_host = where_.on_host();
  std::unique_ptr<looping>& mine = how == way::plain_launches ? plain_ : how == way::whole_launch ? whole_ : start_;
  if (mine) return mine;
  mine = std::make_unique<looping>(&mine == &start_ ? record_start() : record_whole());
  mine->recorded.prepare({.how = on_host                    ? executor::host
                                 : how == way::whole_launch ? executor::graph
                                                            : executor::stream});
  return mine;
}

token_launch* generator::prepared_token(way how) {
  if (how != way::token_a_launch && how != way::serial_token_a_launch) return nullptr;
  std::unique_ptr<token_launch>& mine = how == way::token_a_launch ? token_ : serial_token_;
  if (!mine) {
    program_recorder record(where_);
    record_token(record, size_, at_, test_for_host{{end_token_.data(), chosen_.data(), outputs_.data()}, loop_.data()});
    program token = std::move(record).finish();
    token.prepare({.how = where_.on_host() ? executor::host : executor::stream,
                   .programmatic_launch = how == way::token_a_launch});
    mine = std::make_unique<token_launch>(std::move(token), &loop_.data()->running);
  }
  return mine.get();
}

const program& generator::program_of(way how) {
  token_launch* const token = prepared_token(how);
  return token ? token->token() : prepared(how)->recorded;
}
std::string generator::note(way how) { return prepared(how)->recorded.note(); }

void generator::launch(way how, index_type tokens, index_type end_token) {
  looping& mine = *prepared(how);
  mine.recorded.set(mine.settings, control_settings{.limit = tokens});
  mine.recorded.set(mine.end_token, end_token);
  if (token_launch* const token = prepared_token(how)) {
    mine.recorded.enqueue(token->stream());
    token->repeat();
  } else {
    mine.recorded.enqueue(nullptr);
    mine.recorded.wait();
  }
}

generated generator::run(way how, index_type tokens, index_type end_token) {
  prepared(how);
  prepared_token(how);
  const auto began = std::chrono::steady_clock::now();
  launch(how, tokens, end_token);
  generated result;
  result.seconds = seconds_since(began);
  control loop;
  loop_.download(&loop);
  result.why = loop.why;
  result.outputs.resize(static_cast<std::size_t>(outputs_.size()));
  outputs_.download(result.outputs.data());
  result.outputs.resize(static_cast<std::size_t>(loop.iteration));
  result.x.resize(static_cast<std::size_t>(size_.dimension));
  x_.download(reinterpret_cast<quad*>(result.x.data()));
  return result;
}

double generator::read_seconds() {
  constexpr index_type passes = 16;
  buffer<float> kept(where_, 1);
  buffer<control> loop(where_, 1);
  const add_up all{weights_.data(), 2 * size_.layers * size_.entries_of_matrix() / 4};
  program_recorder record(where_);
  record.loop("passes", loop.data(),
              [&](auto& run) { run.step("read all", all.indexes(), all, keep_total{kept.data()}); });
  record.parameter(&loop.data()->settings, control_settings{.limit = passes});
  program reading = std::move(record).finish();
  reading.prepare({.how = where_.on_host() ? executor::host : executor::graph});
  double best = HUGE_VAL;
  for (int repetition = 0; repetition < 4; ++repetition) {  // the first is a warm-up
    const auto began = std::chrono::steady_clock::now();
    reading.enqueue(nullptr);
    reading.wait();
    best = std::min(best, seconds_since(began) / static_cast<double>(passes));
  }
  return best;
}

}  // namespace whilst::token_loop
