// Memory that all ranks write, and the transport by which they reach it.
#include "whilst/exchange/window.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "solvers/exchange/windows/transport.hpp"
#include "tests/catch.hpp"
#include "tests/group/on_ranks.hpp"
#include "tests/group/processes_in_memory.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/cuda.hpp"

namespace {

using whilst::group;
using whilst::place;
using whilst::window;
using whilst_test::contains;
using whilst_test::nothing;
using whilst_test::on_ranks;

void require(bool is, const char* what) {
  if (!is) throw std::runtime_error(what);
}
std::uint64_t* numbers_of(const window& shared, int q) { return static_cast<std::uint64_t*>(shared.of(q)); }

/// Each rank writes to all, and finds what all wrote.
void check_that_all_reach_all(const group& ranks, window& shared) {
  const int size = ranks.size();
  const auto own = static_cast<std::uint64_t>(ranks.rank());
  for (int k = 0; k < size; ++k) require(numbers_of(shared, ranks.rank())[k] == 0, "a new window is not zero");
  ranks.barrier();
  for (int q = 0; q < size; ++q) numbers_of(shared, q)[own] = 100 * own + static_cast<std::uint64_t>(q) + 1;
  ranks.barrier();
  for (int q = 0; q < size; ++q)
    require(numbers_of(shared, ranks.rank())[q] == 100 * static_cast<std::uint64_t>(q) + own + 1,
            "what another rank wrote is not here");
  const std::uint64_t put = 7 + own;
  shared.put(&put, sizeof put);
  ranks.barrier();
  for (int q = 0; q < size; ++q)
    require(*numbers_of(shared, q) == 7 + static_cast<std::uint64_t>(q), "what another rank put is not seen");
  ranks.barrier();
  if (ranks.rank() == size - 1) shared.set_to_zero();
  ranks.barrier();
  require(*numbers_of(shared, size - 1) == 0 && (size == 1 || *numbers_of(shared, 0) == 7),
          "set_to_zero clears another piece than that of its rank");
  ranks.barrier();
}
void check_windows(const group& ranks, const std::string& asked, const std::string& expected) {
  constexpr std::size_t bytes = 64;
  window first(ranks, place::host(), bytes, asked);
  require(first.transport() == expected, first.transport().c_str());
  require(!first.shares_gpu(), "ranks on the host share a GPU");
  check_that_all_reach_all(ranks, first);
  window second = first.another(static_cast<std::size_t>(4096 * (ranks.rank() + 1)));  // sizes may differ
  first = {};
  require(second.transport() == expected, "another window has another transport");
  check_that_all_reach_all(ranks, second);
}

/// What work(group) threw in so many processes, forked from this one.
template <class Work>
std::vector<std::string> in_processes(int size, const Work& work) {
  const whilst_test::processes_in_memory shared, said;
  std::vector<pid_t> children;
  for (int q = 1; q < size; ++q) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    std::string thrown;
    try {
      work(shared.of(q, size));
    } catch (const std::exception& problem) {
      thrown = problem.what();
    }
    try {
      (void)said.of(q, size).all_gather<char>("telling", std::span<const char>(thrown));
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  std::string thrown;
  try {
    work(shared.of(0, size));
  } catch (const std::exception& problem) {
    thrown = problem.what();
  }
  const auto all = said.of(0, size).all_gather<char>("telling", std::span<const char>(thrown));
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  std::vector<std::string> made;
  for (int q = 0; q < size; ++q) made.emplace_back(all.of(q).begin(), all.of(q).end());
  return made;
}

/// A transport of threads that fails where `fails` says, at which step.
enum class failing { never, making, before_memory, with_memory };
struct tried {
  static inline failing where = failing::never;
  static inline int rank = 0;
};
class failing_transport final : public whilst::windows::transport {
 public:
  explicit failing_transport(const whilst::windows::ranks_known& known) : known_(known) {}
  void open(whilst::windows::memory_seen& made) const override {
    const auto fail_at = [&](failing where) {
      if (tried::where == where && known_.ranks.rank() == tried::rank) throw std::runtime_error("it fails");
    };
    made.own_is_of_host = true;
    whilst::windows::open_doors<int>(
        known_, made,
        [&] {
          fail_at(failing::before_memory);
          made.own = whilst::windows::own_memory(place::host(), made.bytes);
          return 0;
        },
        [](std::size_t, int, std::size_t) { return std::shared_ptr<void>(); },
        [&](std::size_t, const std::shared_ptr<void>& piece) {
          fail_at(failing::with_memory);
          return piece.get();
        });
  }

 private:
  whilst::windows::ranks_known known_;
};
std::string never_refused(const whilst::windows::ranks_known&) { return ""; }
std::unique_ptr<whilst::windows::transport> make_failing(const whilst::windows::ranks_known& known) {
  known.ranks.agree("making a transport that fails", [&] {
    if (tried::where == failing::making && known.ranks.rank() == tried::rank) throw std::runtime_error("it fails");
  });
  return std::make_unique<failing_transport>(known);
}
const whilst::windows::transport_kind failing_kind{"failing", false, true, never_refused, make_failing, nullptr};
const whilst::windows::transport_kind reluctant_kind{"reluctant", false, false, never_refused, make_failing, nullptr};

std::string chosen_of(const group& ranks, const std::string& asked, whilst::windows::list_of_kinds kinds) {
  const whilst::windows::ranks_known known(ranks, place::host(), asked);
  whilst::windows::memory_seen memory;
  memory.bytes = 64;
  const whilst::windows::choice made = whilst::windows::choose(known, asked, kinds, memory);
  require(memory.seen.size() == static_cast<std::size_t>(ranks.size()), "a piece is missing");
  ranks.barrier();
  // The rank that failed has its own words, the others name it.
  if (made.passed_over.empty()) return made.name;
  require(made.passed_over.starts_with("failing: ") && made.passed_over.ends_with("it fails"),
          made.passed_over.c_str());
  return made.name + ", not failing: it fails";
}

}  // namespace

TEST_CASE("ranks know whether threads share their GPU", "[group][gpu]") {
  const int devices = whilst::cuda::device_count();
  if (devices == 0) return;
  for (const bool is_shared : {true, false}) {
    if (!is_shared && devices < 2) continue;
    CAPTURE(is_shared);
    CHECK(on_ranks(2, [&](const group& ranks) {
            const window made(ranks, place::gpu(is_shared ? 0 : ranks.rank()), 64);
            require(made.shares_gpu() == is_shared, "a window says otherwise");
          }) == nothing(2));
  }
}

TEST_CASE("ranks on the host reach one another's windows by every transport that they have", "[group]") {
  CHECK(on_ranks(1, [](const group& ranks) { check_windows(ranks, "auto", "one rank"); }) == nothing(1));
  for (const char* const named : {"threads", "peer memory"})  // there is nobody to reach
    CHECK(on_ranks(1, [&](const group& ranks) { check_windows(ranks, named, "one rank"); }) == nothing(1));
  for (const int size : {2, 5}) {
    CHECK(on_ranks(size, [](const group& ranks) { check_windows(ranks, "auto", "threads"); }) == nothing(size));
    for (const char* const named : {"shared memory", "shared-memory"})
      CHECK(on_ranks(size, [&](const group& ranks) { check_windows(ranks, named, "shared memory"); }) == nothing(size));
    for (const char* const named : {"auto", "shared memory"})
      CHECK(in_processes(size, [&](const group& ranks) { check_windows(ranks, named, "shared memory"); }) ==
            nothing(size));
  }
}

TEST_CASE("transports that ranks do not have are refused on all", "[group]") {
  const auto asked_for = [](const std::string& name) {
    return [name](const group& ranks) { check_windows(ranks, name, name); };
  };
  for (const std::string& said : in_processes(3, asked_for("threads")))
    CHECK_THAT(said, contains("threads: the ranks are several processes"));
  for (const std::string& said : on_ranks(3, asked_for("peer memory")))
    CHECK_THAT(said, contains("peer memory is for ranks on GPUs, and these run on the host"));
  std::string all = "auto";
  for (const std::string& name : whilst::transport_names()) all += ", " + name;
  for (const int size : {1, 3})
    for (const std::string& said : on_ranks(size, asked_for("pigeons"))) {
      CHECK_THAT(said, contains("there is no transport called 'pigeons'"));
      CHECK_THAT(said, contains("Use one of " + all));
    }
  const auto differ = [](const group& ranks) {
    const window made(ranks, place::host(), 64, ranks.rank() == 1 ? "shared memory" : "auto");
  };
  for (const std::string& said : on_ranks(3, differ)) CHECK_THAT(said, contains("ranks ask for different transports"));
}

TEST_CASE("a transport that fails on one rank is passed over on all", "[group]") {
  using whilst::windows::transport_kind;
  const transport_kind* const kinds[] = {&reluctant_kind, &failing_kind, &whilst::windows::by_shared_memory};
  const auto is_chosen = [&](const std::string& asked, const std::string& expected) {
    return on_ranks(3, [&](const group& ranks) {
      const std::string found = chosen_of(ranks, asked, kinds);
      if (found != expected) throw std::runtime_error(found);
    });
  };
  tried::where = failing::never;
  CHECK(is_chosen("auto", "failing") == nothing(3));
  CHECK(is_chosen("reluctant", "reluctant") == nothing(3));
  for (const failing where : {failing::making, failing::before_memory, failing::with_memory})
    for (int rank = 0; rank < 3; ++rank) {
      CAPTURE(static_cast<int>(where), rank);
      tried::where = where;
      tried::rank = rank;
      CHECK(is_chosen("auto", "shared memory, not failing: it fails") == nothing(3));
      // One that is asked for is not replaced.
      for (const std::string& said : is_chosen("failing", "")) CHECK_THAT(said, contains("it fails"));
    }
  tried::where = failing::never;
}
