#pragma once

/// cuSPARSE for the baselines that use it; for builds that have it.

#include <cusparse.h>

#include <memory>
#include <string>
#include <type_traits>

#include "whilst/error.hpp"

namespace whilst::baselines {

inline void call(const char* doing, cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    throw error(doing, std::string("cuSPARSE says ") + cusparseGetErrorString(status));
}

template <class Handle, auto destroy>
struct destroyer {
  using pointer = Handle;
  void operator()(Handle handle) const noexcept { destroy(handle); }
};
template <class Handle, auto destroy>
using owned = std::unique_ptr<std::remove_pointer_t<Handle>, destroyer<Handle, destroy>>;

inline owned<cusparseHandle_t, cusparseDestroy> make_cusparse(cudaStream_t stream) {
  cusparseHandle_t made = nullptr;
  call("starting cuSPARSE", cusparseCreate(&made));
  owned<cusparseHandle_t, cusparseDestroy> handle(made);
  call("starting cuSPARSE", cusparseSetStream(made, stream));
  return handle;
}

}  // namespace whilst::baselines
