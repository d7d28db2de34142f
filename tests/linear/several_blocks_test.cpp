// A solve by several blocks of threads, as in a cluster of a GPU's: here of the host's threads. Each block has memory
// of its own, so that what a method reads of another's shows without a GPU, as do barriers that were forgotten.

#include <algorithm>
#include <array>
#include <barrier>
#include <cstring>
#include <deque>
#include <optional>

#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/linear/linear_problems.hpp"
#include "whilst/linear/methods/bicgstab.hpp"
#include "whilst/linear/methods/conjugate_gradient.hpp"
#include "whilst/linear/methods/minres.hpp"

namespace whilst_test {

namespace {

using whilst::block_share;
using whilst::index_type;
using whilst::lanes;
using whilst::reason;

/// What the threads of a cluster share.
struct shared_by_blocks {
  int blocks, threads, shift;
  std::barrier<> meeting;
  std::deque<std::barrier<>> of_block;
  std::vector<std::vector<std::byte>> memory;  ///< of each block
  std::vector<std::array<double, 8>> shares;   ///< of each thread
  std::array<std::atomic<reason>, 2> verdict{reason::running, reason::running};

  shared_by_blocks(int blocks, int threads, int shift, index_type bytes)
      : blocks(blocks), threads(threads), shift(shift), meeting(blocks * threads) {
    for (int k = 0; k < blocks; ++k) of_block.emplace_back(threads);
    memory.resize(static_cast<std::size_t>(blocks),
                  std::vector<std::byte>(static_cast<std::size_t>(bytes + 256), std::byte{0xab}));
    shares.resize(static_cast<std::size_t>(blocks * threads));
  }
  std::byte* memory_of(int block) {
    void* begin = memory[static_cast<std::size_t>(block)].data();
    std::size_t room = memory[static_cast<std::size_t>(block)].size();
    return static_cast<std::byte*>(std::align(256, 1, begin, room));
  }
};

/// A vector whose shares lie in the blocks' memory.
template <class T>
struct vector_of_blocks {
  shared_by_blocks* shared;
  int block;
  const T* x;
  block_share own;
  std::int32_t place_of(std::int32_t j) const { return j; }
  T at_place(std::int32_t place) const { return place < 0 ? T(0) : (*this)[place]; }
  T operator[](index_type j) const {
    if (own.shift > 31) return x[j];
    const std::byte* const here = reinterpret_cast<const std::byte*>(x + own.first);
    const int other = static_cast<int>(j >> own.shift);
    const std::byte* const there = shared->memory_of(other) + (here - shared->memory_of(block));
    return reinterpret_cast<const T*>(there)[j & (own.size() - 1)];
  }
};

/// A cluster of blocks of the host's threads: see cluster_team.
class team_of_blocks {
 public:
  static constexpr bool has_blocks = true;
  using block = lanes;

  team_of_blocks(shared_by_blocks& shared, int block, int rank) : shared_(&shared), block_(block), rank_(rank) {}
  bool leads() const { return rank_ == 0; }
  bool may_lead() const { return leads(); }
  bool is_first_block() const { return block_ == 0; }
  int rank_in_block() const { return rank_; }
  int block_size() const { return shared_->threads; }
  static lanes divided(int) { return {}; }
  void* fast_memory() const { return shared_->memory_of(block_); }
  block_share share() const { return {shared_->shift, static_cast<index_type>(block_) << shared_->shift}; }
  template <class T>
  vector_of_blocks<T> gathered(const T* x) const {
    return {shared_, block_, x, share()};
  }
  void sync_block() const { shared_->of_block[static_cast<std::size_t>(block_)].arrive_and_wait(); }
  /// The first to go on is another one each time: it may be far ahead of the rest.
  void sync() const {
    shared_->meeting.arrive_and_wait();
    const int all = shared_->blocks * shared_->threads;
    if (++meetings_ % all != block_ * shared_->threads + rank_)
      std::this_thread::sleep_for(std::chrono::microseconds(1));
  }
  void meet() const { sync(); }
  /// Only the leaders get it.
  template <int k>
  whilst::sums<double, k> sum_on_leader(const whilst::sums<double, k>& value) const {
    static_assert(k <= 8);
    std::memcpy(shared_->shares[static_cast<std::size_t>(block_ * shared_->threads + rank_)].data(), value.value,
                sizeof value.value);
    sync();
    whilst::sums<double, k> total{};
    for (const auto& share : shared_->shares)
      for (int i = 0; i < k; ++i) total.value[i] += share[static_cast<std::size_t>(i)];
    sync();
    return leads() ? total : value;
  }
  reason agree(reason asked) const {
    const auto now = static_cast<std::size_t>(calls_++ & 1);
    if (block_ == 0 && asked != reason::running) shared_->verdict[now] = asked;
    return shared_->verdict[1 - now];
  }

 private:
  shared_by_blocks* shared_;
  int block_, rank_;
  mutable int meetings_ = 0, calls_ = 0;
};

/// What its maps get.
struct lanes_of_blocks : lanes {
  const team_of_blocks& all;
  template <class T>
  vector_of_blocks<T> gathered(const T* x) const {
    return all.gathered(x);
  }
};

struct solved {
  std::vector<double> x, history;
  whilst::solve_outcome outcome;
};

struct limits {
  double rtol = 1e-10;
  index_type iterations = 10000;
  std::uint64_t launch = 7, cancel = 0, deadline_nanoseconds = 0;
};

/// Solves A x = b from zero by so many blocks.
template <template <class, class, class> class Method, class Preconditioner>
solved solve_by_blocks(const whilst::csr_matrix<double>& A, const std::vector<double>& b, int blocks, int threads,
                       const limits& asked = {}) {
  using matrix_type = whilst::csr_operator<double, std::int32_t, whilst::constant_slot<const double>>;
  using spread_type = typename whilst::spread_over_blocks<matrix_type>::type;
  using solve_type = whilst::linear_solve<double, spread_type, Preconditioner, Method>;
  using problems_type = whilst::linear_problems<solve_type, double, matrix_type, Preconditioner>;
  const index_type n = A.rows(), share = (n + blocks - 1) / blocks;
  int shift = 0;
  while ((index_type{1} << shift) < share) ++shift;

  solved result{std::vector<double>(b.size(), 0.0), {}, {}};
  std::vector<whilst::history_record> history(200);
  const double *b_at = b.data(), *values = A.values().data();
  double* x_at = result.x.data();
  whilst::solve_outcome* outcome_at = &result.outcome;
  whilst::control outer{}, inner{};
  outer.outside.cancel_request = asked.cancel;
  whilst::control_settings settings[2];
  for (whilst::control_settings& one : settings) {
    one.limit = asked.iterations;
    one.rtol = asked.rtol;
    one.launch = asked.launch;
  }
  settings[0].deadline_nanoseconds = asked.deadline_nanoseconds;
  settings[1].history = history.data();
  settings[1].history_capacity = static_cast<index_type>(history.size());
  const matrix_type matrix{n, A.row_offsets_32().data(), A.column_indices().data(), {&values}, 1, A.nonzeros()};
  const typename solve_type::operands io{{&b_at}, {&x_at}, {&outcome_at}, {}};

  whilst::workspace measured(nullptr, {.shift = shift});
  const whilst::copies_of_block<solve_type> copies(measured);
  solve_type(spread_type(matrix), Preconditioner(), io, nullptr, nullptr, measured);
  const int used_blocks = static_cast<int>((n - 1) >> shift) + 1;
  const index_type bytes_of_rows = whilst::bytes_of_rows(matrix, {.shift = shift});
  std::vector<std::byte> rows(static_cast<std::size_t>(used_blocks * bytes_of_rows), std::byte{0xab});
  const problems_type problems{matrix,  Preconditioner(), io,   settings,    nullptr,       &outer,     &inner,
                               nullptr, measured.used(),  true, rows.data(), bytes_of_rows, used_blocks};

  shared_by_blocks shared(used_blocks, threads, shift, measured.used());
  std::vector<std::thread> team;
  for (int block = 0; block < used_blocks; ++block) {
    for (int rank = 0; rank < threads; ++rank) {
      team.emplace_back([&, block, rank] {
        const team_of_blocks all(shared, block, rank);
        whilst::team_runner<team_of_blocks> run(all);
        problems(0, all)(run);
      });
    }
  }
  for (std::thread& thread : team) thread.join();
  for (index_type k = 0; k < result.outcome.history_count; ++k)
    result.history.push_back(history[static_cast<std::size_t>(k)].residual_norm);
  return result;
}

double true_residual(const whilst::csr_matrix<double>& A, const std::vector<double>& b, const std::vector<double>& x) {
  long double squares = 0, of_b = 0;
  for (index_type i = 0; i < A.rows(); ++i) {
    long double r = b[static_cast<std::size_t>(i)];
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      r -= static_cast<long double>(A.values()[static_cast<std::size_t>(k)]) *
           x[static_cast<std::size_t>(A.column_indices()[static_cast<std::size_t>(k)])];
    squares += r * r;
    of_b += static_cast<long double>(b[static_cast<std::size_t>(i)]) * b[static_cast<std::size_t>(i)];
  }
  return static_cast<double>(std::sqrt(squares / of_b));
}

using jacobi = whilst::jacobi_preconditioner<double>;
using identity = whilst::identity_preconditioner;

}  // namespace

TEST_CASE("several blocks solve a system", "[blocks]") {
  // 3 blocks: the last has fewer rows. More blocks than rows need: some have none.
  for (const char* name : {"poisson2d:9", "poisson2d:3", "poisson1d:1", "poisson1d:5"}) {
    const auto A = whilst::make_gallery<double>(name).matrix;
    const std::vector<double> b = random_vector<double>(A.rows(), 3);
    whilst::linear_solver<double> alone(A, {.rtol = 1e-10, .executor = "host"});
    std::vector<double> x(b.size(), 0.0);
    const whilst::report expected = alone.solve(b, x);
    for (const int blocks : {1, 2, 3, 4}) {
      for (const int threads : {1, 2}) {
        INFO(name << ", " << blocks << " blocks of " << threads << " threads");
        const solved cg = solve_by_blocks<whilst::conjugate_gradient, identity>(A, b, blocks, threads);
        CHECK(cg.outcome.why == reason::converged_rtol);
        CHECK(true_residual(A, b, cg.x) <= 1e-10);
        CHECK(cg.outcome.launch == 7);
        // Sums are added in another order: the histories agree until rounding has grown, the counts nearly.
        CHECK(std::abs(cg.outcome.iterations - expected.iterations()) <= 1);
        REQUIRE(static_cast<index_type>(cg.history.size()) == cg.outcome.history_count);
        REQUIRE(cg.history.size() > 0);
        CHECK(std::abs(cg.history[0] - expected.history()[0].residual_norm) <=
              1e-14 * expected.history()[0].residual_norm);
        const solved with_jacobi = solve_by_blocks<whilst::conjugate_gradient, jacobi>(A, b, blocks, threads);
        CHECK(with_jacobi.outcome.why == reason::converged_rtol);
        CHECK(true_residual(A, b, with_jacobi.x) <= 1e-10);
        const solved unsymmetric = solve_by_blocks<whilst::bicgstab, jacobi>(A, b, blocks, threads);
        CHECK(unsymmetric.outcome.why == reason::converged_rtol);
        CHECK(true_residual(A, b, unsymmetric.x) <= 1e-10);
        const solved by_minres = solve_by_blocks<whilst::minres, jacobi>(A, b, blocks, threads);
        CHECK(by_minres.outcome.why == reason::converged_rtol);
        CHECK(true_residual(A, b, by_minres.x) <= 1e-10);
      }
    }
  }
}

TEST_CASE("several blocks end alike where there is no solution", "[blocks]") {
  // Singular, and b not in its range.
  const auto A = whilst::make_gallery<double>("neumann2d:9").matrix;
  std::vector<double> b = random_vector<double>(A.rows(), 4);
  b[0] += 10;
  const solved alone = solve_by_blocks<whilst::minres, identity>(A, b, 1, 1);
  const solved together = solve_by_blocks<whilst::minres, identity>(A, b, 3, 2);
  CHECK(alone.outcome.why == reason::breakdown);
  CHECK(together.outcome.why == reason::breakdown);
  CHECK(std::abs(together.outcome.iterations - alone.outcome.iterations) <= 4);
  // What is left is the part of b in the null space, its mean.
  double mean = 0, squares = 0;
  for (const double bi : b) {
    mean += bi / static_cast<double>(b.size());
    squares += bi * bi;
  }
  const double least = std::abs(mean) * std::sqrt(static_cast<double>(b.size()) / squares);
  CHECK(true_residual(A, b, alone.x) <= least * (1 + 1e-12));
  CHECK(true_residual(A, b, together.x) <= least * (1 + 1e-12));
}

TEST_CASE("several blocks end alike", "[blocks]") {
  const auto A = whilst::make_gallery<double>("poisson2d:9").matrix;
  std::vector<double> b = random_vector<double>(A.rows(), 4);
  const auto solve = [&](const limits& asked) {
    return solve_by_blocks<whilst::conjugate_gradient, identity>(A, b, 3, 2, asked);
  };
  SECTION("at the limit") {
    const solved limited = solve({.rtol = 0, .iterations = 5});
    CHECK(limited.outcome.why == reason::iteration_limit);
    CHECK(limited.outcome.iterations == 5);
    CHECK(solve({.iterations = 0}).outcome.iterations == 0);
  }
  SECTION("cancelled") {
    const solved cancelled = solve({.rtol = 0, .cancel = 7});
    CHECK(cancelled.outcome.why == reason::cancelled);
    CHECK(cancelled.outcome.iterations <= 3);
    CHECK(solve({.cancel = 6}).outcome.why == reason::converged_rtol);
  }
  SECTION("past the deadline") {
    const solved late = solve({.rtol = 0, .deadline_nanoseconds = 1});
    CHECK(late.outcome.why == reason::deadline);
    CHECK(late.outcome.iterations <= 3);
  }
  SECTION("with a NaN in one block's rows") {
    b[70] = std::numeric_limits<double>::quiet_NaN();
    const solved none = solve({});
    CHECK(none.outcome.why == reason::nan_or_infinity);
    for (const double xi : none.x) CHECK(xi == 0);
  }
  SECTION("b = 0") {
    std::fill(b.begin(), b.end(), 0.0);
    CHECK(solve({}).outcome.why == reason::converged_rtol);
  }
}

TEMPLATE_TEST_CASE("blocks copy rows, and multiply to the same bits", "[blocks]", float, double) {
  // Of threads whose values are all short, of others, and of some with both; rows of different lengths, one empty.
  const index_type n = 23;
  const int shift = 3, blocks = 3;
  triplets<TestType> entries(static_cast<int>(n));
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i % 5; ++k) {
      entries.columns.push_back((i + 7 * k) % static_cast<int>(n));
      const bool is_short = i < 8 || i % 2 == 0 || (i < 16 && i % 4 == 1);
      const double value = k == 0 && i == 6 ? 0 : k == 0 && i == 9 ? 2097153.0 : is_short ? 3.0 * i - k : (i - k) / 3.0;
      entries.values.push_back(static_cast<TestType>(value));
    }
    entries.offsets.push_back(static_cast<std::int32_t>(entries.columns.size()));
  }
  std::vector<TestType> x = random_vector<TestType>(n, 8);
  x[0] = std::numeric_limits<TestType>::quiet_NaN();  // where a row ends nothing is multiplied
  for (const int threads : {1, 2, 4}) {
    using matrix_type = whilst::csr_operator<TestType, std::int32_t, whilst::constant_slot<const TestType>>;
    const TestType* values = entries.values.data();
    const auto nonzeros = static_cast<index_type>(entries.columns.size());
    const matrix_type matrix{n, entries.offsets.data(), entries.columns.data(), {&values}, 1, nonzeros};
    const index_type bytes_of_rows = whilst::bytes_of_rows(matrix, {.shift = shift});
    CHECK(bytes_of_rows == 32 * whilst::entries_held * (std::is_same_v<TestType, float> ? 8 : 12));
    // Behind the copies nothing is touched.
    std::vector<std::byte> rows(static_cast<std::size_t>(blocks * bytes_of_rows + 64), std::byte{0xab});
    shared_by_blocks shared(blocks, threads, shift, (index_type{1} << shift) * index_type{sizeof(TestType)});
    for (index_type i = 0; i < n; ++i)
      reinterpret_cast<TestType*>(shared.memory_of(static_cast<int>(i >> shift)))[i & ((1 << shift) - 1)] =
          x[static_cast<std::size_t>(i)];
    index_type compared = 0;
    for (int block = 0; block < blocks; ++block) {
      std::vector<typename whilst::spread_over_blocks<matrix_type>::type> of_thread(
          static_cast<std::size_t>(threads), typename whilst::spread_over_blocks<matrix_type>::type(matrix));
      std::byte* const memory = rows.data() + block * bytes_of_rows;
      for (int rank = 0; rank < threads; ++rank)
        of_thread[static_cast<std::size_t>(rank)].copy_rows(team_of_blocks(shared, block, rank), memory,
                                                            shared.memory_of(block));
      for (int rank = 0; rank < threads; ++rank) {
        const team_of_blocks team(shared, block, rank);
        const TestType* const own = reinterpret_cast<const TestType*>(shared.memory_of(block)) - team.share().first;
        const lanes_of_blocks group{{}, team};
        const auto& A = of_thread[static_cast<std::size_t>(rank)];
        whilst::for_own_indices(team, 1, n, [&](index_type i) {
          INFO("row " << i << ", " << threads << " threads");
          const TestType expected = matrix.row(i, x.data(), lanes());
          const TestType Ax = A.row(A.fetch(i, group), i, team.gathered(own), group);
          CHECK((Ax == expected || (std::isnan(Ax) && std::isnan(expected))));
          ++compared;
        });
      }
    }
    CHECK(compared == n);
    CHECK(std::all_of(rows.end() - 64, rows.end(), [](std::byte b) { return b == std::byte{0xab}; }));
  }
}

TEMPLATE_TEST_CASE("rows longer than the others, and lanes that share rows", "[blocks][resident]", float, double) {
  // A symmetric band, and a first row and column that are full: what a thread copies of its rows ends within them.
  for (const auto& [n, half_width] :
       {std::pair(50, 0), {200, 1}, {300, 3}, {300, 6}, {500, 60}, {700, 20}, {700, 120}, {1500, 1}, {3000, 3}}) {
    if (under_sanitizers && (n == 500 || n > 700)) continue;
    triplets<TestType> entries(n);
    for (int i = 0; i < n; ++i) {
      double others = 0;
      for (int j = 0; j < n; ++j) {
        if (i == j || (i > 0 && j > 0 && std::abs(i - j) > half_width)) continue;
        const double value = i > 0 && j > 0 ? -1.0 / (1 + std::abs(i - j)) : -1e-2;
        entries.columns.push_back(j);
        entries.values.push_back(static_cast<TestType>(value));
        others -= value;
      }
      // The diagonal comes last, in one row in three as two entries.
      for (int part = 0; part < (i % 3 == 0 ? 2 : 1); ++part) {
        entries.columns.push_back(i);
        entries.values.push_back(static_cast<TestType>((others + 1 + i % 5) / (i % 3 == 0 ? 2 : 1)));
      }
      entries.offsets.push_back(static_cast<std::int32_t>(entries.columns.size()));
    }
    const whilst::csr_matrix<TestType> A = entries.matrix();
    const std::vector<TestType> b = random_vector<TestType>(n, 5);
    const double rtol = std::is_same_v<TestType, float> ? 1e-5 : 1e-12;
    for (const std::string& executor : executors()) {
      for (const char* method : {"cg", "minres", "bicgstab"}) {
        for (const char* preconditioner : {"none", "jacobi"}) {
          INFO(n << " rows, half-bandwidth " << half_width << ", " << method << ", " << preconditioner << ", "
                 << executor);
          whilst::linear_solver<TestType> solver(
              A, {.method = method, .preconditioner = preconditioner, .rtol = rtol, .executor = executor});
          std::vector<TestType> x(b.size(), 0);
          CHECK(solver.solve(b, x).reason() == reason::converged_rtol);
          // Rounding of the residual itself: a row's sum of up to n terms of about |A| |x|.
          const Eigen::VectorXd r = to_eigen(b) - to_eigen(A) * to_eigen(x);
          CHECK(r.norm() <= (rtol + 50 * std::numeric_limits<TestType>::epsilon()) * to_eigen(b).norm());
        }
      }
    }
  }
}

}  // namespace whilst_test
