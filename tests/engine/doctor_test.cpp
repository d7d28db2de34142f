// compiled by nvcc where CUDA is on
// Calls that a program cannot hold: the message names the call, what it did and the cure, and the next program works.

#include <set>
#include <stdexcept>
#include <string>

#include "kernels/engine/doctor.hpp"
#include "tests/catch.hpp"
#include "tests/engine/nests.hpp"
#include "tests/engine/toy.hpp"

namespace whilst_test {

using whilst::executor;
using whilst::program_recorder;

TEST_CASE("a call that needs a stream is refused on the host, with its name and a cure", "[doctor]") {
  program_recorder record(place::host());
  CHECK_THROWS_WITH(record.call("library", [](CUstream_st*) {}, {.needs_stream = true}),
                    contains("call 'library'") && contains("needs a stream") && contains("place::gpu(device)"));
  // The recorder goes on.
  int made = 0;
  record.call("mine", [&](CUstream_st* stream) { made += stream == nullptr; });
  whilst::program program = std::move(record).finish();
  program.prepare({});
  run(program);
  CHECK(made == 1);
}

TEST_CASE("what a call throws on the host goes on as it is, and the program runs again", "[doctor]") {
  program_recorder record(place::host());
  bool fails = true;
  record.call("mine", [&](CUstream_st*) {
    if (fails) throw std::logic_error("out of ideas");
  });
  whilst::program program = std::move(record).finish();
  program.prepare({});
  CHECK_THROWS_AS(program.enqueue(nullptr), std::logic_error);
  fails = false;
  run(program);
}

#if WHILST_WITH_CUDA

TEST_CASE("each error of a capture has a cause and a cure of its own", "[doctor]") {
  std::set<std::string> causes;
  for (int code = cudaErrorStreamCaptureUnsupported; code <= cudaErrorStreamCaptureWrongThread; ++code) {
    INFO(code);
    const auto found = whilst::capture_finding(static_cast<cudaError_t>(code));
    REQUIRE(found);
    CHECK(causes.insert(found->what).second);
    CHECK(found->cure.size() > 20);
  }
  CHECK_FALSE(whilst::capture_finding(cudaSuccess));
  CHECK_FALSE(whilst::capture_finding(cudaErrorMemoryAllocation));
}

namespace {

struct clinic {
  whilst::buffer<control> c{place::gpu(0), 1};
  whilst::buffer<double> x{place::gpu(0), 1};
  whilst::cuda::stream other = whilst::cuda::make_stream();
  clinic() { set_limits(c, {10}); }

  /// A program whose call enqueues `library` on the stream: in a loop that stops after three trips, or at the top.
  template <class Library>
  whilst::program with_call(bool in_loop, const Library& library) {
    program_recorder record(place::gpu(0));
    if (!in_loop) record.call("the culprit", library);
    record.loop("loop", c.data(), [&](auto& run) {
      run.call("innocent", [](CUstream_st*) {});
      if (in_loop) run.call("the culprit", library);
      run.once("verdict", stop_at{c.data(), 3});
    });
    return std::move(record).finish();
  }

  /// Nothing is left of what went wrong.
  void check_next() {
    CHECK(cudaGetLastError() == cudaSuccess);
    whilst::program next =
        with_call(true, [this](CUstream_st* stream) { cudaMemsetAsync(x.data(), 0, sizeof(double), stream); });
    next.prepare({.how = executor::graph});
    run(next);
    CHECK(value(c).iteration == 3);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaGetLastError() == cudaSuccess);
  }

  /// Refused while it is being captured, at the top and in a loop, and repeatedly.
  template <class Library>
  void check_breaks(const Library& library, const std::string& what, const std::string& cure) {
    for (const bool in_loop : {false, true}) {
      INFO(what << ", in a loop: " << in_loop);
      whilst::program program = with_call(in_loop, library);
      for (int repeat = 0; repeat < 2; ++repeat) {
        CHECK_THROWS_WITH(program.prepare({.how = executor::graph}),
                          contains("recording call 'the culprit'") && contains(what) && contains(cure));
        check_next();
      }
    }
  }

  /// Refused in the body of a loop only.
  template <class Library>
  void check_unfit(const Library& library, const std::string& what, const std::string& cure) {
    INFO(what);
    whilst::program program = with_call(true, library);
    CHECK_THROWS_WITH(program.prepare({.how = executor::graph}),
                      contains("call 'the culprit' put " + what) && contains(cure));
    check_next();
    program.prepare({.how = executor::stream});
    run(program);
    CHECK(value(c).iteration == 3);
    cudaGetLastError();  // some of these are not allowed outside of captures
    check_next();
  }
};

/// For captures by hand that went wrong.
void abandon_capture(cudaStream_t stream) {
  cudaGraph_t spoilt = nullptr;
  cudaStreamEndCapture(stream, &spoilt);
  const whilst::cuda::graph owned(spoilt);
  cudaGetLastError();
}

}  // namespace

TEST_CASE("a node that a loop's body may not hold is named with its call and a cure", "[doctor][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  clinic at;
  static double pageable;
  static int told;
  told = 0;
  const auto tell = [](CUstream_st* stream) {
    cudaLaunchHostFunc(
        stream, [](void* count) { ++*static_cast<int*>(count); }, &told);
  };
  at.check_unfit(tell, "a host function", "pinned memory");
  CHECK(told == 3);
  // Outside loops it may be there.
  told = 0;
  whilst::program program = at.with_call(false, tell);
  program.prepare({.how = executor::graph});
  run(program);
  CHECK(told == 1);
  CHECK(value(at.c).iteration == 3);

  at.check_unfit(
      [](CUstream_st* stream) {
        void* memory = nullptr;
        cudaMallocAsync(&memory, 64, stream);
        cudaFreeAsync(memory, stream);
      },
      "an allocation", "before recording");
  at.check_unfit(
      [x = at.x.data()](CUstream_st* stream) {
        cudaMemcpyAsync(x, &pageable, sizeof(double), cudaMemcpyHostToDevice, stream);
      },
      "a copy of pageable memory", "cudaMallocHost");
  const whilst::cuda::event event = whilst::cuda::make_event();
  at.check_unfit([&](CUstream_st* stream) { cudaEventRecordWithFlags(event.get(), stream, cudaEventRecordExternal); },
                 "the record of an event", "cudaEventRecordExternal");
  at.check_unfit([&](CUstream_st* stream) { cudaStreamWaitEvent(stream, event.get(), cudaEventWaitExternal); },
                 "the wait for an event", "cudaEventWaitExternal");
}

TEST_CASE("a call that breaks the capture is named with what it did and a cure", "[doctor][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  clinic at;
  const whilst::cuda::event event = whilst::cuda::make_event();
  at.check_breaks([](CUstream_st* stream) { cudaStreamSynchronize(stream); }, "synchronised", "Take it out");
  at.check_breaks(
      [](CUstream_st* stream) {
        cudaStreamSynchronize(stream);
        cudaGetLastError();
      },
      "it broke the capture", "may not synchronise");
  at.check_breaks(
      [](CUstream_st* stream) {
        const cudaError_t status = cudaStreamSynchronize(stream);
        if (status != cudaSuccess) throw std::logic_error(cudaGetErrorName(status));
      },
      "It threw: cudaErrorStreamCaptureUnsupported", "Take it out");
  at.check_breaks(
      [&](CUstream_st* stream) {
        cudaEventRecord(event.get(), stream);
        cudaEventQuery(event.get());
      },
      "for an event that was recorded in the capture", "cudaStreamWaitEvent");
  at.check_breaks([](CUstream_st* stream) { abandon_capture(stream); }, "ended the capture of its stream",
                  "Leave beginning and ending");
}

TEST_CASE("a call that uses other streams wrongly is named with what it did and a cure", "[doctor][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  clinic at;
  const whilst::cuda::event begin = whilst::cuda::make_event(), end = whilst::cuda::make_event();
  const auto fork = [&](CUstream_st* stream) {
    cudaEventRecord(begin.get(), stream);
    cudaStreamWaitEvent(at.other.get(), begin.get(), 0);
    cudaMemsetAsync(at.x.data(), 0, sizeof(double), at.other.get());
  };
  at.check_breaks(fork, "its own stream does not wait for", "Record an event on the other stream");
  // Work outside of the capture, marked by an event.
  const whilst::cuda::stream outside = whilst::cuda::make_stream(), captured = whilst::cuda::make_stream();
  REQUIRE(cudaEventRecord(end.get(), outside.get()) == cudaSuccess);
  at.check_breaks([&](CUstream_st* stream) { cudaStreamWaitEvent(stream, end.get(), 0); },
                  "waited for work that is not part of the capture", "before the program is enqueued");
  // Another capture.
  at.check_breaks(
      [&](CUstream_st* stream) {
        cudaStreamBeginCapture(captured.get(), cudaStreamCaptureModeRelaxed);
        cudaEventRecord(begin.get(), captured.get());
        const cudaError_t status = cudaStreamWaitEvent(stream, begin.get(), 0);
        abandon_capture(captured.get());
        if (status != cudaSuccess) throw whilst::error(cudaGetErrorName(status));
      },
      "It threw: cudaErrorStreamCaptureMerge", "may not synchronise");

  // Joined, it is as it should be, be it by the next call.
  program_recorder record(place::gpu(0));
  record.loop("loop", at.c.data(), [&](auto& run) {
    run.call("fork", fork);
    run.call("join", [&](CUstream_st* stream) {
      cudaEventRecord(end.get(), at.other.get());
      cudaStreamWaitEvent(stream, end.get(), 0);
    });
    run.once("verdict", stop_at{at.c.data(), 3});
  });
  whilst::program program = std::move(record).finish();
  program.prepare({.how = executor::graph});
  run(program);
  CHECK(value(at.c).iteration == 3);
}

TEST_CASE("what goes wrong in the caller's own capture is told", "[doctor][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  clinic at;
  cudaStream_t made = nullptr;
  REQUIRE(cudaStreamCreate(&made) == cudaSuccess);  // one that the legacy default stream waits for
  const whilst::cuda::stream stream(made);
  const auto begin = [&] { REQUIRE(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal) == cudaSuccess); };
  whilst::program clean = at.with_call(true, [](CUstream_st*) {});
  clean.prepare({.how = executor::graph});

  // Broken by the caller.
  begin();
  CHECK(cudaStreamSynchronize(stream.get()) != cudaSuccess);
  cudaGetLastError();
  CHECK_THROWS_WITH(clean.enqueue(stream.get()),
                    contains("an earlier error has broken that capture") && contains("cudaStreamEndCapture"));
  abandon_capture(stream.get());
  at.check_next();

  // Broken by a call that uses the legacy default stream, or synchronises.
  program_recorder record(place::gpu(0));
  bool legacy = true;
  record.call("the culprit", [&](CUstream_st* given) {
    if (legacy) {
      cudaMemsetAsync(at.x.data(), 0, sizeof(double), cudaStreamLegacy);
    } else {
      cudaStreamSynchronize(given);
    }
  });
  whilst::program program = std::move(record).finish();
  program.prepare({.how = executor::stream});
  for (const bool of_legacy : {true, false}) {
    legacy = of_legacy;
    begin();
    CHECK_THROWS_WITH(program.enqueue(stream.get()), contains("recording call 'the culprit'") &&
                                                         contains(legacy ? "legacy default stream" : "synchronised") &&
                                                         contains(legacy ? "cublasSetStream" : "Take it out"));
    abandon_capture(stream.get());
    at.check_next();
    run(program);
  }

  // The legacy default stream cannot be enqueued to while a blocking stream is being captured.
  begin();
  CHECK_THROWS_WITH(clean.enqueue(nullptr), contains("cudaErrorStreamCaptureImplicit") && contains("Use the stream"));
  abandon_capture(stream.get());
  at.check_next();

  // Neither a profile nor a strict check goes into a capture.
  begin();
  CHECK_THROWS_WITH(clean.profile(stream.get()), contains("being captured") && contains("End the capture first"));
  CHECK_THROWS_WITH(clean.check_strictly({}, stream.get()), contains("being captured"));
  abandon_capture(stream.get());
  at.check_next();
  run(clean);
  CHECK(value(at.c).iteration == 3);
}

#endif

}  // namespace whilst_test
