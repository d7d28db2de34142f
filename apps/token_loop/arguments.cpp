#include "arguments.hpp"

#include <fmt/format.h>

#include "apps/common/command_line.hpp"
#include "whilst/error.hpp"
#include "whilst/place_of_executor.hpp"

namespace whilst::token_loop {
namespace {

using command::add, command::not_empty, command::one_of, command::whole_number;

CLI::Validator multiple_of_4(index_type least, index_type most) {
  return command::number<index_type>(
      "NUMBER", [=](index_type value) { return value >= least && value <= most && value % 4 == 0; },
      fmt::format("a multiple of 4 from {} to {}, as 2048", least, most));
}

}  // namespace

arguments::arguments()
    : app("Generates tokens one after another, as language models do, in ways that make the same numbers: steps "
          "launched one by one, a CUDA graph a token, and one launch for the whole generation. Shows what each costs.",
          "token_loop") {
  command::add_version(app);
  add(&app, "--dimension", given_.size.dimension,
      "Length d of the vectors; the vocabulary has as many tokens (default 2048, on the CPU 128)",
      multiple_of_4(4, 16384))
      ->option_text("D");
  add(&app, "--layers", given_.size.layers, "Layers, each with two d x d matrices (default 22, on the CPU 4)",
      whole_number(1, 128, "22"))
      ->option_text("L");
  add(&app, "--tokens", given_.tokens, "Most tokens of a generation (default 512, on the CPU 64)",
      whole_number(1, 1'000'000, "512"))
      ->option_text("N");
  add(&app, "--end-token", given_.end_token,
      "A generation ends with this token, 0 to d - 1; -1 for none, when the test is made all the same (default -1)",
      whole_number(-1, 16383, "7"))
      ->option_text("K");
  add(&app, "--executor", given_.executor,
      "host: the CPU; stream: plain launches only; graph: a graph a token and the one launch only; auto: all on a GPU, "
      "where there is one (default auto)",
      one_of({"auto", "host", "stream", "graph"}));
  add(&app, "--repetitions", given_.repetitions, "Timed runs of each way, of which the fastest counts (default 3)",
      whole_number(1, 1000, "3"))
      ->option_text("R");
  app.add_flag("--explain", given_.explain, "Print the program of one token and of the whole generation, and leave");
  add(&app, "--json", given_.json, "Write a report; - for standard output, with nothing else on it", not_empty());
  app.footer(
      "The model. x starts as the embedding of token 1. Each layer is\n"
      "    x += W2 silu(W1 x / rms(x)),   silu(u) = u / (1 + exp(-u)),   rms(x) = sqrt(mean(x^2) + 1e-5)\n"
      "and after the last one y = x / rms(x) is the output, the position of its largest entry the token, and\n"
      "    x = 0.6 y + 0.56 (the token's embedding + its position's)\n"
      "starts the next token. Weights are noise of fixed seed, scaled so that numbers neither die nor explode.\n\n"
      "The test. After each token, on the device: was it the end token (\"completed\"), is its output not finite\n"
      "(\"nan_or_infinity\"), are there as many tokens as may be (\"iteration_limit\")?\n\n"
      "The ways, with the same steps, two a layer and one to choose the token:\n"
      "  plain   each step is launched by itself, and the host looks at the flag after each token\n"
      "  serial-token   one CUDA graph of a token's steps and the flag's copy, made by capture, without a WHILE node;\n"
      "          launched for each token by the host, which looks at the flag; each step begins when the one before "
      "has\n"
      "          ended\n"
      "  token   the same with steps that overlap by programmatic dependent launch, as they do in the other ways\n"
      "  whole   one launch: a WHILE node around the steps of several tokens; the device looks at the flag\n"
      "On the CPU: a program run once a token, and one run of a program with a loop.\n\n"
      "The floor. The layers' matrices do not fit a GPU's cache at d = 2048, so each token must read them from\n"
      "memory. GB/s counts them alone; \"of read\" compares with a step that does nothing but read them.\n\n"
      "Examples:\n"
      "  token_loop                                   the usual sizes\n"
      "  token_loop --dimension 256                   small matrices, where launches count\n"
      "  token_loop --layers 2 --explain              what is recorded\n"
      "  token_loop --json - | jq .ways\n\n"
      "Exit status: 0 all ways made the same bits; 2 not so, or an output was not finite; 1 any error.");
}

token_loop_options arguments::options() const {
  token_loop_options options = given_;
  const bool on_host = place_of_executor(options.executor).on_host();
  if (options.size.dimension == 0) options.size.dimension = on_host ? 128 : 2048;
  if (options.size.layers == 0) options.size.layers = on_host ? 4 : 22;
  if (options.tokens == 0) options.tokens = on_host ? 64 : 512;
  if (options.end_token >= options.size.dimension)
    throw error("--end-token " + std::to_string(options.end_token),
                "the vocabulary has tokens 0 to " + std::to_string(options.size.dimension - 1),
                "Give one of them, or a larger --dimension");
  return options;
}

}  // namespace whilst::token_loop
