// compiled by nvcc where CUDA is on
// Kernels that need more local memory than any before: it is there when a program has been prepared.

#include <vector>

#include "tests/catch.hpp"
#include "tests/engine/held_stream.hpp"
#include "tests/engine/toy.hpp"

namespace whilst_test {

#if WHILST_WITH_CUDA

namespace {

constexpr int many = 2000;  ///< bytes that no compiler keeps in registers

/// Reverses the digits of i, by way of local memory.
struct reverse {
  double* result;
  WHILST_HD void operator()(index_type i) const {
    volatile unsigned char digits[many];
    int count = 0;
    for (index_type rest = i; rest > 0; rest /= 10) digits[count++ * 7 % many] = static_cast<unsigned char>(rest % 10);
    double reversed = 0;
    for (int k = 0; k < count; ++k) reversed = 10 * reversed + digits[k * 7 % many];
    result[i] = reversed;
  }
};

}  // namespace

TEST_CASE("a prepared program waits for no local memory", "[program][gpu]") {
  for (const way& w : ways()) {
    if (w.where.on_host()) continue;
    INFO(w.name);
    // As at the start of a process: CUDA never takes it back by itself.
    REQUIRE(cudaDeviceSetLimit(cudaLimitStackSize, 1024) == cudaSuccess);
    const index_type n = 1000;
    const whilst::buffer<double> result(w.where, n);
    whilst::program_recorder record(w.where);
    record.step("reverse", n, reverse{result.data()});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    std::size_t bytes = 0;
    REQUIRE(cudaDeviceGetLimit(&bytes, cudaLimitStackSize) == cudaSuccess);
    REQUIRE(bytes >= many);  // otherwise the next would never end
    const whilst::cuda::stream stream = whilst::cuda::make_stream();
    held_stream held(stream.get());
    program.enqueue(stream.get());
    held.open();
    program.wait();
    const std::vector<double> found = values(result);
    CHECK(found[987] == 789);
    CHECK(found[120] == 21);
    CHECK(found[7] == 7);
  }
}

#endif

}  // namespace whilst_test
