#pragma once

#include "whilst/engine/memory/cuda.hpp"
#include "whilst/engine/memory/memory.hpp"
#include "whilst/recorder.hpp"

namespace whilst::token_loop {

/// A program without loops, run repeatedly by the host while a flag in the place's memory is not 0. On a GPU it is one
/// CUDA graph, captured from a stream: the program's steps as the executor launches them, and the copy of the flag to
/// the host; no WHILE node. This is how loops over graphs are written without Whilst.
class token_launch {
 public:
  /// token: prepared for stream or host.
  token_launch(program token, const int* running);

  const program& token() const { return token_; }
  /// Where repeat() launches; null on the host.
  CUstream_st* stream() const;
  /// Launches at least once, and returns when all is done.
  void repeat();

 private:
  program token_;
  const int* running_;
#if WHILST_WITH_CUDA
  cuda::stream stream_;
  shared_memory_block running_on_host_;
  cuda::graph_exec graph_;
#endif
};

}  // namespace whilst::token_loop
