// Methods run by teams of several threads, as within a kernel: here of the host's threads, so that barriers that the
// team runner forgot show without a GPU.

#include <array>
#include <barrier>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/catch.hpp"
#include "tests/engine/choices.hpp"
#include "tests/engine/nests.hpp"
#include "whilst/team_runner.hpp"

namespace whilst_test {

namespace {

constexpr int most_threads = 3;

/// What the threads of a team share.
struct shared_by_threads {
  std::barrier<> meeting;
  std::array<std::array<double, 8>, most_threads> shares{};
  double fast_memory[8]{};
};

/// A team of threads of the host: a block, but for the hardware.
class thread_team {
 public:
  thread_team(shared_by_threads& shared, int rank, int size) : shared_(&shared), rank_(rank), size_(size) {}
  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The first to go on is another one each time: it may be far ahead of the rest.
  void sync() const {
    shared_->meeting.arrive_and_wait();
    thread_local int meetings = 0;
    if (size_ > 1 && ++meetings % size_ != rank_) std::this_thread::sleep_for(std::chrono::microseconds(1));
  }
  double sum(double value) const { return sum(whilst::sums<double, 1>{{value}})[0]; }
  template <int k>
  whilst::sums<double, k> sum(const whilst::sums<double, k>& value) const {
    static_assert(k <= 8);
    std::memcpy(shared_->shares[static_cast<std::size_t>(rank_)].data(), value.value, sizeof value.value);
    sync();
    whilst::sums<double, k> total{};
    for (int thread = 0; thread < size_; ++thread)
      for (int i = 0; i < k; ++i)
        total.value[i] += shared_->shares[static_cast<std::size_t>(thread)][static_cast<std::size_t>(i)];
    sync();
    return total;
  }
  /// Only the leader gets it, as in a block.
  template <int k>
  whilst::sums<double, k> sum_on_leader(const whilst::sums<double, k>& value) const {
    const auto total = sum(value);
    return rank_ == 0 ? total : value;
  }
  static whilst::lanes divided(int) { return {}; }
  int groups(int) const { return size_; }
  int group(int) const { return rank_; }
  void* fast_memory() const { return shared_->fast_memory; }

 private:
  shared_by_threads* shared_;
  int rank_, size_;
};

/// Gives functions that run a method once, by so many threads.
struct by_threads {
  int threads;
  template <class Method>
  auto operator()(const Method& method) const {
    return [method, size = threads] {
      shared_by_threads shared{.meeting = std::barrier<>(size)};
      std::vector<std::thread> team;
      for (int rank = 0; rank < size; ++rank) {
        team.emplace_back([&, rank] {
          whilst::team_runner run(thread_team(shared, rank, size));
          method(run);
        });
      }
      for (std::thread& thread : team) thread.join();
    };
  }
};

struct finds_fast_memory {
  control* c;
  int* found;
  struct ask {
    [[maybe_unused]] static constexpr bool whole_block = true;
    int* found;
    template <class Team>
    void operator()(index_type i, const Team& team) const {
      if (team.rank() == 0) found[i] += team.fast_memory() ? 1 : 100;
    }
  };
  template <class Run>
  void operator()(Run& run) const {
    run.loop("once", c, [&](auto& run) { run.team("ask", 2, ask{found}); });
  }
};

}  // namespace

TEST_CASE("nests and team steps by a team of threads", "[semantics]") {
  for (const int threads : {1, most_threads}) {
    INFO(threads << " threads");
    const by_threads make_run{threads};
    check_endless(place::host(), make_run);
    check_no_finish_in_body(place::host(), make_run);
    check_verdict_in_start(place::host(), make_run);
    check_four_loops(place::host(), make_run);
    check_branches(place::host(), make_run);
    check_outer_stopped_within(place::host(), make_run);
    check_finishes_further_in(place::host(), make_run);
    check_flag_cleared_within(place::host(), make_run);
    check_one_after_another(place::host(), make_run);
    check_loop_in_branch(place::host(), make_run);
    check_team_steps(place::host(), make_run);
    check_choices(place::host(), make_run);
    check_branch_with_else(place::host(), make_run);
    check_side_by_side(place::host(), make_run);
  }
}

TEST_CASE("a team's fast memory is not for the steps of a method that it runs", "[semantics]") {
  // The vectors of the whole solve may lie there: see linear_problems.
  whilst::buffer<control> c(place::host(), 1);
  whilst::buffer<int> found(place::host(), 2);
  set_limits(c, {1});
  by_threads{2}(finds_fast_memory{c.data(), found.data()})();
  CHECK((values(found) == std::vector<int>{100, 100}));
}

}  // namespace whilst_test
