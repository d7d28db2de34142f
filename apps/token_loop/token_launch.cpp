#include "token_launch.hpp"

#include <utility>

namespace whilst::token_loop {

#if WHILST_WITH_CUDA

token_launch::token_launch(program token, const int* running) : token_(std::move(token)), running_(running) {
  if (token_.where().on_host()) return;
  cuda::device_guard current(token_.where().device());
  stream_ = cuda::make_stream();
  running_on_host_ = shared_memory_block(token_.where(), sizeof(int));
  WHILST_CUDA("starting to capture a token", cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeRelaxed));
  cudaGraph_t captured = nullptr;
  try {
    token_.enqueue(stream_.get());
    WHILST_CUDA("capturing the copy of the flag",
                cudaMemcpyAsync(running_on_host_.data(), running_, sizeof(int), cudaMemcpyDeviceToHost, stream_.get()));
    WHILST_CUDA("ending the capture of a token", cudaStreamEndCapture(stream_.get(), &captured));
  } catch (...) {
    cuda::abandon_capture(stream_.get(), /*is_body=*/false);
    throw;
  }
  const cuda::graph graph(captured);
  cudaGraphExec_t made = nullptr;
  WHILST_CUDA("instantiating the graph of a token", cudaGraphInstantiate(&made, graph.get(), 0));
  graph_ = cuda::graph_exec(made);
  WHILST_CUDA("uploading the graph of a token", cudaGraphUpload(graph_.get(), stream_.get()));
  WHILST_CUDA("uploading the graph of a token", cudaStreamSynchronize(stream_.get()));
}

CUstream_st* token_launch::stream() const { return stream_.get(); }

void token_launch::repeat() {
  if (token_.where().on_host()) {
    do token_.enqueue(nullptr);
    while (*running_);
    return;
  }
  const auto* const flag = static_cast<volatile const int*>(running_on_host_.data());
  do {
    WHILST_CUDA("launching the graph of a token", cudaGraphLaunch(graph_.get(), stream_.get()));
    WHILST_CUDA("waiting for a token", cudaStreamSynchronize(stream_.get()));
  } while (*flag);
}

#else

token_launch::token_launch(program token, const int* running) : token_(std::move(token)), running_(running) {}
CUstream_st* token_launch::stream() const { return nullptr; }
void token_launch::repeat() {
  do token_.enqueue(nullptr);
  while (*running_);
}

#endif

}  // namespace whilst::token_loop
