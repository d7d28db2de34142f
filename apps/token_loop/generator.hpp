#pragma once

#include <memory>
#include <string>
#include <vector>

#include "steps.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/recorder.hpp"

namespace whilst::token_loop {

/// Who decides after each token whether to go on, and how the steps reach the place.
enum class way {
  plain_launches,         ///< the host, which launches each step separately
  serial_token_a_launch,  ///< the host, which launches a graph of one token's steps, each of which begins when the
                          ///< previous one has ended, as in a graph captured without further effort; not on the CPU
  token_a_launch,         ///< the same with steps that overlap, as Whilst's do; on the CPU, runs such a program
  whole_launch,  ///< the device: one launch of a graph with a WHILE node; on the CPU one run of a program with a loop
};
/// "plain", "serial-token", "token", "whole".
std::string_view name(way how);

/// The result of a generation.
struct generated {
  std::vector<output> outputs;  ///< one per token
  std::vector<float> x;         ///< what the next token would have started from
  reason why = reason::running;
  double seconds = 0;  ///< wall time, from before the first launch until the host knows that all is done
};
/// Whether two have the same bits.
bool same(const generated& a, const generated& b);

class token_launch;

/// A model on a place, and the programs that generate tokens with it. Not movable: programs point to its memory.
class generator {
 public:
  /// Makes the weights there. most_tokens: the limit of any generation.
  generator(place where, const model_size& size, index_type most_tokens);
  ~generator();
  generator(const generator&) = delete;
  generator& operator=(const generator&) = delete;

  /// Generates up to `tokens` tokens, until end_token (negative: none) is chosen. The first generation of each way also
  /// records and prepares it, which its seconds do not include.
  generated run(way how, index_type tokens, index_type end_token);
  /// Seconds to read all the layers' matrices once, by a step that does nothing else.
  double read_seconds();

  /// Steps per token.
  index_type steps() const { return 2 * size_.layers + 1; }
  /// The program of a way, for explain(); a token's program does not include the start.
  const program& program_of(way how);
  /// Why a way is not what its name says; empty if it is.
  std::string note(way how);

 private:
  struct looping {
    program recorded;
    parameter<control_settings> settings;
    parameter<index_type> end_token;
  };
  looping record_start();
  looping record_whole();
  std::unique_ptr<looping>& prepared(way how);
  /// Null for ways that do not launch tokens one by one.
  token_launch* prepared_token(way how);
  void launch(way how, index_type tokens, index_type end_token);

  place where_;
  model_size size_;
  buffer<quad> weights_, x_, h_;
  buffer<output> chosen_, outputs_;
  buffer<index_type> end_token_;
  buffer<control> loop_;
  generation_memory at_;
  std::unique_ptr<looping> plain_, start_, whole_;
  std::unique_ptr<token_launch> token_, serial_token_;
};

}  // namespace whilst::token_loop
