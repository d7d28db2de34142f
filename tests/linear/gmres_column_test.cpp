// The blocks that update v and q together with the column of gmres, by threads of the host as on a GPU.
#include <atomic>
#include <barrier>
#include <memory>
#include <random>
#include <thread>

#include <Eigen/Dense>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/linear/methods/gmres_column.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::sums;

namespace {

/// Threads of the host as a block of warps: what teams of a GPU have that the column uses.
class block_of_warps {
  static constexpr int lanes = 32;

 public:
  explicit block_of_warps(int threads)
      : threads_(threads), all_(threads), memory_(4096), of_lane_(static_cast<std::size_t>(threads)) {
    for (int warp = 0; warp < threads / lanes; ++warp) warps_.push_back(std::make_unique<std::barrier<>>(lanes));
  }

  class warp {
   public:
    warp(block_of_warps& block, int thread) : block_(&block), thread_(thread) {}
    int rank() const { return thread_ % lanes; }
    int size() const { return lanes; }
    template <int k>
    sums<double, k> sum(const sums<double, k>& value) const {
      static_assert(k <= 8);
      auto& mine = block_->of_lane_[static_cast<std::size_t>(thread_)];
      for (int j = 0; j < k; ++j) mine.value[j] = value[j];
      auto& meet = *block_->warps_[static_cast<std::size_t>(thread_ / lanes)];
      meet.arrive_and_wait();
      sums<double, k> total{};
      const int first = thread_ / lanes * lanes;
      for (int lane = first; lane < first + lanes; ++lane)
        for (int j = 0; j < k; ++j) total.value[j] += block_->of_lane_[static_cast<std::size_t>(lane)].value[j];
      meet.arrive_and_wait();
      return total;
    }

   private:
    block_of_warps* block_;
    int thread_;
  };
  class member {
   public:
    member(block_of_warps& block, int rank) : block_(&block), rank_(rank) {}
    int rank() const { return rank_; }
    int size() const { return block_->threads_; }
    void sync() const { block_->all_.arrive_and_wait(); }
    void* fast_memory() const { return block_->memory_.data(); }
    warp divided(int) const { return warp(*block_, rank_); }
    template <class T>
    static T early(const T* address) {
      return *address;
    }

   private:
    block_of_warps* block_;
    int rank_;
  };
  /// Returns how many threads have said that the block has read.
  template <class Map>
  int run(const Map& map, index_type i) {
    std::vector<std::thread> threads;
    std::atomic<int> calls = 0;
    for (int rank = 0; rank < threads_; ++rank)
      threads.emplace_back([&, rank] {
        const member team(*this, rank);
        map(i, team, map.read(i, team, map.fetch(i, team)), [&] { ++calls; });
      });
    for (std::thread& thread : threads) thread.join();
    return calls;
  }

 private:
  int threads_;
  std::barrier<> all_;
  std::vector<std::unique_ptr<std::barrier<>>> warps_;
  std::vector<double> memory_;
  std::vector<sums<double, 8>> of_lane_;
};

/// A cycle's memory, with the loop around it.
struct cycle_on_host {
  using memory = whilst::gmres_memory<double>;
  using steps = whilst::gmres_steps<double>;
  using column = whilst::gmres_column<double, whilst::identity_preconditioner>;

  static index_type bytes(index_type n, int restart) {
    whilst::workspace measuring;
    memory(n, n, restart, measuring);
    measuring.take<double>(n);
    return measuring.used();
  }
  std::vector<double> room;
  whilst::workspace place;
  memory all;
  double* q;
  whilst::loop_state loop{};

  cycle_on_host(index_type n, int restart, const std::vector<double>& r)
      : room(static_cast<std::size_t>(bytes(n, restart) / 8 + 64), 0.0),
        place(room.data()),
        all(n, n, restart, place),
        q(place.take<double>(n)) {
    loop.running = 1;
    loop.limit = 1000;
    double rr = 0;
    for (const double ri : r) rr += ri * ri;
    typename steps::begin_cycle{all.s}(sums<double, 1>{{rr}}, loop);
    for (index_type i = 0; i < n; ++i) typename steps::first_of_basis{all.s, r.data(), q}(i);
  }
  void multiply(const Eigen::MatrixXd& A) {
    Eigen::Map<Eigen::VectorXd>(all.w, all.n) = A * Eigen::Map<const Eigen::VectorXd>(q, all.n);
    const typename steps::dots_of_piece dots{all, q, nullptr};
    for (index_type i = 0; i < all.pieces * (all.most + 1); ++i) whilst::detail::apply_map(dots, i, whilst::lanes());
  }
};

}  // namespace

TEST_CASE("blocks that update v and q with the column get what two steps get", "[linear][gmres]") {
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  // A row for each lane, and some that have none; one piece of the rows, and some.
  for (const int n : {1, 40, 700}) {
    for (const int threads : {32, 64, 256}) {
      if (under_sanitizers && (n == 700 ? threads != 64 : threads == 256)) continue;
      const int restart = n == 700 ? 12 : 40;
      const Eigen::MatrixXd A = 3 * Eigen::MatrixXd::Identity(n, n) +
                                Eigen::MatrixXd::NullaryExpr(n, n, [&] { return normal(random) / std::sqrt(n); });
      const std::vector<double> r = random_vector<double>(n, 31);
      cycle_on_host apart(n, restart, r), together(n, restart, r);
      const int columns = apart.all.most;
      for (int k = 0; k < columns && apart.loop.running; ++k) {
        INFO(n << " rows, " << threads << " threads, column " << k);
        apart.multiply(A);
        together.multiply(A);

        const whilst::identity_preconditioner M;
        const cycle_on_host::column alone{apart.all, apart.all.pieces, M, apart.q, apart.q, nullptr};
        whilst::detail::apply_map(alone, 0, whilst::lanes());
        whilst::gmres_judge<double>{apart.all, false}(apart.loop);
        if (apart.all.s->columns > k)
          for (index_type i = 0; i < n; ++i) cycle_on_host::steps::next_of_basis{apart.all, apart.q}(i);

        const cycle_on_host::column by_blocks{together.all, together.all.pieces, M, together.q, together.q, nullptr};
        block_of_warps block(threads);
        const index_type blocks = (n + by_blocks.rows_a_block - 1) / by_blocks.rows_a_block;
        for (index_type i = blocks; i > 0; --i) REQUIRE(block.run(by_blocks, i) == threads);
        block.run(by_blocks, 0);
        whilst::gmres_judge<double>{together.all, true}(together.loop);

        REQUIRE(together.all.s->columns == apart.all.s->columns);
        CHECK(together.all.s->written == apart.all.s->written);
        CHECK(together.loop.running == apart.loop.running);
        CHECK(together.loop.why == apart.loop.why);
        // The sums have another order; so far from the solution, rounding grows little.
        CHECK(together.loop.residual_norm == Approx(apart.loop.residual_norm).epsilon(1e-10).margin(1e-13));
        if (together.loop.residual_norm < 1e-6) continue;
        for (index_type i = 0; i < n; ++i) {
          const index_type at = k * n + i;
          REQUIRE(together.all.basis[at] == Approx(apart.all.basis[at]).margin(1e-10));
          REQUIRE(together.q[i] == Approx(apart.q[i]).margin(1e-10));
        }
      }
      const Eigen::Map<const Eigen::MatrixXd> V(together.all.basis, n, together.all.s->columns);
      CHECK((V.transpose() * V - Eigen::MatrixXd::Identity(V.cols(), V.cols())).norm() <= 1e-13 * columns);
    }
  }
}

}  // namespace whilst_test
