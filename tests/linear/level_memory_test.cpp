#include "solvers/linear/multigrid/level_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/catch.hpp"
#include "tests/under_sanitizers.hpp"

using whilst::place, whilst::multigrid::level_memory, whilst::multigrid::piece;

namespace {

/// Whether no two pieces share a byte.
bool are_apart(std::vector<piece<std::byte>> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
  return std::adjacent_find(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) {
           return a.data() + a.size() > b.data();
         }) == pieces.end();
}

}  // namespace

TEST_CASE("pieces that stay and pieces for a while share slabs, and no byte", "[amg]") {
  level_memory kept(place::host(), 16384);
  std::vector<piece<std::byte>> pieces;
  level_memory scratch(kept);
  for (int k = 0; k < 100; ++k) {
    pieces.push_back(kept.take<std::byte>(1 + 37 * k % 700));
    pieces.push_back(scratch.take<std::byte>(1 + 91 * k % 900));
  }
  CHECK(are_apart(pieces));
  CHECK(std::all_of(pieces.begin(), pieces.end(),
                    [](const auto& one) { return reinterpret_cast<std::uintptr_t>(one.data()) % 256 == 0; }));
}

TEST_CASE("what scratch has left, others take", "[amg]") {
  level_memory kept(place::host(), 8192);
  kept.take<double>(16);
  {
    level_memory scratch(kept);
    const double* const first = scratch.take<double>(512).data();
    scratch.reuse();
    CHECK(scratch.take<double>(512).data() == first);
    CHECK(scratch.bytes() == 0);
    scratch.take<double>(1000);  // more than is left
    CHECK(scratch.bytes() >= 8000);
  }
  CHECK(kept.bytes() == 8192);
  kept.take<double>(512);
  CHECK(kept.bytes() == 8192);
  kept.take<double>(512);
  CHECK(kept.bytes() > 8192);
}

TEST_CASE("level_memory lends what is left of it, each byte once", "[amg]") {
  level_memory kept(place::host(), 4096);
  const piece<double> mine = kept.take<double>(100);  // 1024 bytes in whole units
  {
    level_memory scratch(kept);
    scratch.take<std::byte>(2048);  // from the end, for a while
    CHECK(kept.lend(1025) == nullptr);
  }
  const auto at = [&](const void* piece) {
    return static_cast<const std::byte*>(piece) - reinterpret_cast<const std::byte*>(mine.data());
  };
  CHECK(kept.bytes() == 4096);
  CHECK(at(kept.lend(1000)) == 1024);
  CHECK(at(kept.lend(1)) == 2048);
  CHECK(kept.bytes() == 4096 - 1024 - 256);  // those who have it count it
  CHECK(kept.lend(2048) == nullptr);         // 1792 are left, and no slab is made
  CHECK(at(kept.take<std::byte>(1792).data()) == 2304);
  CHECK(kept.bytes() == 4096 - 1024 - 256);
}

TEST_CASE("where there is not memory for a slab, a smaller one does", "[amg]") {
  if (whilst_test::under_sanitizers) return;  // their malloc ends the process in place of returning null
  level_memory kept(place::host(), std::size_t{1} << 62);
  const piece<double> taken = kept.take<double>(100);
  REQUIRE(taken.data() != nullptr);
  std::fill(taken.data(), taken.data() + 100, 1.0);
  CHECK(kept.bytes() < whilst::index_type{1} << 62);
  CHECK_THROWS_AS(kept.take<double>(whilst::index_type{1} << 58), whilst::out_of_memory);
  CHECK(kept.take<double>(100).data() != nullptr);
}
