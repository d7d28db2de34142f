#include "whilst/group.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/group/on_ranks.hpp"
#include "whilst/error.hpp"

namespace {

using whilst::group;
using whilst_test::contains;
using whilst_test::nothing;
using whilst_test::on_ranks;
using numbers = std::vector<std::int64_t>;

constexpr int group_sizes[] = {1, 2, 3, 5, 8};

/// What rank q gives in these tests: q numbers, none on rank 0, so that lengths differ.
numbers numbers_of(int rank) {
  numbers mine;
  for (int k = 0; k < rank; ++k) mine.push_back(100 * rank + k);
  return mine;
}

/// Whether what was gathered is everybody's numbers.
bool is_all(const whilst::arrays_of_ranks<std::int64_t>& all, int size) {
  bool is = all.first.size() == static_cast<std::size_t>(size) + 1 && all.first[0] == 0;
  for (int q = 0; is && q < size; ++q) {
    const auto of_rank = all.of(q);
    is = numbers(of_rank.begin(), of_rank.end()) == numbers_of(q);
  }
  return is;
}

void require(bool is_so, const char* what) {
  if (!is_so) throw std::logic_error(what);
}

}  // namespace

TEST_CASE("a group of one rank gathers its own and never waits") {
  const group alone;
  CHECK(alone.rank() == 0);
  CHECK(alone.size() == 1);
  alone.barrier();
  const auto all = alone.all_gather<int>("numbers", std::vector{4, 5});
  CHECK(all.all == std::vector{4, 5});
  CHECK(all.of(0).size() == 2);
  CHECK_THROWS_WITH(alone.agree("failing", [] { throw std::runtime_error("as it is"); }), "as it is");
  alone.fail("nobody hears");
  alone.barrier();
}

TEST_CASE("every rank gathers what all gave, in the order of ranks") {
  for (const int size : group_sizes) {
    INFO(size << " ranks");
    CHECK(on_ranks(size, [&](const group& ranks) {
            require(ranks.size() == size, "size");
            for (int round = 0; round < 3; ++round) {
              require(is_all(ranks.all_gather<std::int64_t>("numbers", numbers_of(ranks.rank())), size), "numbers");
              const auto made =
                  ranks.all_gather<std::int64_t>("made numbers", [&] { return numbers_of(ranks.rank()); });
              require(is_all(made, size), "made numbers");
            }
          }) == nothing(size));
  }
}

TEST_CASE("ranks that come late are waited for, and a barrier lets none through before") {
  constexpr int size = 5;
  std::atomic<int> arrived{0};
  CHECK(on_ranks(size, [&](const group& ranks) {
          std::uint32_t random = 12345u + static_cast<std::uint32_t>(ranks.rank());
          for (int round = 1; round <= 200; ++round) {
            random = random * 1664525u + 1013904223u;
            if (random >> 29 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random >> 22));
            ++arrived;
            ranks.barrier();
            require(arrived.load() >= size * round, "somebody was not there");
            require(is_all(ranks.all_gather<std::int64_t>("numbers", numbers_of(ranks.rank())), size), "numbers");
          }
        }) == nothing(size));
}

TEST_CASE("what one rank throws, all throw, and the group stays usable") {
  for (const int size : {2, 3, 5, 8}) {
    INFO(size << " ranks");
    std::vector<std::string> first(static_cast<std::size_t>(size));
    CHECK(on_ranks(size, [&](const group& ranks) {
            try {
              (void)ranks.all_gather<std::int64_t>("making numbers", [&] {
                if (ranks.rank() == 1) throw whilst::error("counting", "there are too many");
                return numbers_of(ranks.rank());
              });
            } catch (const whilst::error& problem) {
              first[static_cast<std::size_t>(ranks.rank())] = problem.what();
            }
            require(is_all(ranks.all_gather<std::int64_t>("again", numbers_of(ranks.rank())), size), "numbers");
          }) == nothing(size));
    for (int q = 0; q < size; ++q) {
      CHECK(first[static_cast<std::size_t>(q)] ==
            (q == 1 ? "counting: there are too many" : "making numbers: rank 1 failed: counting: there are too many"));
    }
  }
}

TEST_CASE("of several ranks that throw, each throws its own, and the others name the lowest") {
  const auto thrown = on_ranks(5, [](const group& ranks) {
    ranks.agree("working", [&] {
      if (ranks.rank() == 2) throw std::runtime_error("two");
      if (ranks.rank() == 3) throw 3;  // without a message
    });
  });
  CHECK(thrown[0] == "working: rank 2 failed: two");
  CHECK(thrown[2] == "two");
  CHECK(thrown[3] == "not a std::exception");
  CHECK(thrown[4] == thrown[0]);
  CHECK(on_ranks(2, [](const group& ranks) {
          ranks.agree("working", [&] {
            if (ranks.rank() == 1) throw 3;
          });
        })[0] == "working: rank 1 failed: an exception that has no message");
}

TEST_CASE("calls that differ throw on every rank and break the group") {
  const auto check = [](int size, const std::function<void(const group&)>& odd, const std::string& odd_name) {
    std::vector<std::string> later(static_cast<std::size_t>(size));
    const auto thrown = on_ranks(size, [&](const group& ranks) {
      try {
        if (ranks.rank() == 2)
          odd(ranks);
        else
          (void)ranks.all_gather<std::int64_t>("numbers", numbers_of(ranks.rank()));
      } catch (const whilst::error&) {
        try {
          ranks.barrier();
        } catch (const whilst::error& problem) {
          later[static_cast<std::size_t>(ranks.rank())] = problem.what();
        }
        throw;
      }
    });
    for (const std::string& one : thrown) {
      CHECK_THAT(one, contains("rank 0 called \"numbers\" with elements of 8 bytes, rank 2 " + odd_name));
      CHECK_THAT(one, contains("Make the same collective calls in the same order"));
    }
    for (const std::string& one : later) CHECK_THAT(one, contains("the group is broken: rank 0 called"));
  };
  check(
      3, [](const group& ranks) { ranks.barrier(); }, "\"waiting at a barrier\"");
  check(
      5, [](const group& ranks) { (void)ranks.all_gather<float>("numbers", std::vector{1.f}); },
      "\"numbers\" with elements of 4 bytes");
}

TEST_CASE("a rank that leaves is named to those that wait for it") {
  for (const int size : {2, 5}) {
    const auto thrown = on_ranks(size, [](const group& ranks) {
      ranks.barrier();
      if (ranks.rank() == 1) throw std::runtime_error("I am off");
      ranks.barrier();
    });
    for (int q = 0; q < size; ++q) {
      INFO("rank " << q << " of " << size);
      if (q != 1) CHECK_THAT(thrown[static_cast<std::size_t>(q)], contains("rank 1 has left it"));
    }
  }
}

TEST_CASE("a rank that gives up says why") {
  std::vector<std::string> later(3);
  const auto thrown = on_ranks(3, [&](const group& ranks) {
    try {
      if (ranks.rank() == 1) throw std::runtime_error("no such file");
      ranks.barrier("reading");
    } catch (const std::exception& problem) {
      if (ranks.rank() == 1) ranks.fail(problem.what());
      try {
        ranks.barrier();
      } catch (const std::exception& again) {
        later[static_cast<std::size_t>(ranks.rank())] = again.what();
      }
      throw;
    }
  });
  CHECK(thrown == std::vector<std::string>{"reading: rank 1 failed: no such file", "no such file",
                                           "reading: rank 1 failed: no such file"});
  for (const std::string& one : later) CHECK_THAT(one, contains("the group is broken: rank 1 failed: no such file"));

  // Nobody calls anything any more.
  CHECK(on_ranks(3, [](const group& ranks) {
          if (ranks.rank() == 1) ranks.fail("too late");
        }) == nothing(3));
}

TEST_CASE("an error of the callback breaks the group") {
  int calls = 0;
  const group broken(0, 2, [&](auto, auto, auto) {
    ++calls;
    throw std::runtime_error("the cable is cut");
  });
  CHECK_THROWS_WITH(broken.barrier(), "the cable is cut");
  CHECK_THROWS_WITH(broken.barrier("a second one"), contains("a second one: the group is broken: the cable is cut"));
  broken.fail("nothing is sent");
  CHECK_THROWS_WITH(broken.agree("work", [] { throw std::runtime_error("its own"); }), "its own");
  CHECK(calls == 1);
}

TEST_CASE("groups that cannot be are refused") {
  const group::gather_bytes gather = [](auto, auto, auto) {};
  CHECK_THROWS_WITH(group(2, 2, gather), contains("there is no rank 2"));
  CHECK_THROWS_WITH(group(-1, 2, gather), contains("there is no rank -1"));
  CHECK_THROWS_WITH(group(0, 0, gather), contains("Count ranks from 0"));
  CHECK_THROWS_WITH(group(0, 2, {}), contains("the callback is empty"));
  CHECK_THROWS_WITH(whilst::make_thread_groups(0), contains("Give a size of at least 1"));
}
