#pragma once

#if WHILST_WITH_CUDA

#include <cuda.h>
#include <cuda_runtime.h>

namespace whilst::cuda {

/// A driver function, looked up by the runtime so that nothing links against the driver; null if there is none of that
/// name.
template <class Function>
Function* of_driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer{};
#if CUDART_VERSION >= 12050
  constexpr unsigned version = 12000;  // the functions used have not changed since 4.0
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &answer);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &answer);
#endif
  if (status != cudaSuccess) cudaGetLastError();  // clears it, so that no later check finds it
  return status == cudaSuccess && answer == cudaDriverEntryPointSuccess ? reinterpret_cast<Function*>(found) : nullptr;
}

}  // namespace whilst::cuda

#endif
