#include "whilst/engine/memory/pointer_check.hpp"

#include <string>

#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace whilst {
namespace {

[[noreturn]] void refuse(std::string_view doing, const given_pointer& given, const std::string& what,
                         const std::string& cure) {
  throw error(doing, std::string(given.name) + " " + what, cure);
}

#if WHILST_WITH_CUDA

bool is_capturing(CUstream_st* stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return stream && WHILST_CUDA_ATTEMPT(cudaStreamIsCapturing(stream, &status)) == cudaSuccess &&
         status != cudaStreamCaptureStatusNone;
}

/// Whether a GPU can read memory from malloc.
bool reads_all_of_the_host(int device) {
  int reads = 0;
  return WHILST_CUDA_ATTEMPT(cudaDeviceGetAttribute(&reads, cudaDevAttrPageableMemoryAccess, device)) == cudaSuccess &&
         reads != 0;
}

/// Call with the GPU current.
void require_visible(std::string_view doing, place where, const given_pointer& given, CUstream_st* stream) {
  cudaPointerAttributes found{};
  WHILST_CUDA(doing, cudaPointerGetAttributes(&found, given.address));
  if (found.devicePointer) return;
  const std::string gpu = name_of(where);
  switch (found.type) {
    case cudaMemoryTypeUnregistered:
      if (is_capturing(stream) || reads_all_of_the_host(where.device())) return;
      refuse(doing, given, "is memory of the host, or was freed, and the work is on " + gpu,
             "Give memory of " + gpu + ", managed memory, or pinned and mapped memory of the host");
    case cudaMemoryTypeHost:
      refuse(doing, given, "is pinned memory that is not mapped for " + gpu,
             "Map it, by cudaHostAllocMapped or cudaHostRegisterMapped, or give memory of " + gpu);
    default:
      refuse(doing, given, "is memory of " + name_of(place::gpu(found.device)) + ", out of reach of " + gpu,
             "Give memory of " + gpu + ", or call cudaDeviceEnablePeerAccess before");
  }
}

#endif

}  // namespace

void require_usable(std::string_view doing, place where, std::initializer_list<given_pointer> given,
                    [[maybe_unused]] const pointer_check& how) {
  for (const given_pointer& one : given)
    if (!one.address) refuse(doing, one, "is null", "Give memory of " + name_of(where));
#if WHILST_WITH_CUDA
  if (where.on_host() || !how.look) return;
  const cuda::device_guard current(where.device());
  for (const given_pointer& one : given) require_visible(doing, where, one, how.stream);
#endif
}

void require_name(std::string_view what, const char* name) {
  if (!name) throw error("recording " + std::string(what), "its name is null", "Give it one");
}

}  // namespace whilst
