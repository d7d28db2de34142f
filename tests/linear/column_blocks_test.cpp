// The maps over rows of columns and over columns, by a block of threads as on a GPU, against plain loops.

#include <barrier>
#include <thread>

#include "solvers/linear/columns/by_column.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

using whilst::column_layout;
using whilst::column_pair;
using whilst::column_sums;
using whilst::index_type;
using whilst::sums;

namespace {

/// Threads of the host as a block: what teams of a GPU have that these maps use.
class block_of_threads {
 public:
  explicit block_of_threads(int size) : size_(size), meet_(size), memory_(2 * 256), of_threads_(size) {}

  class member {
   public:
    member(block_of_threads& block, int rank) : block_(&block), rank_(rank) {}
    int rank() const { return rank_; }
    int size() const { return block_->size_; }
    void sync() const { block_->meet_.arrive_and_wait(); }
    void* fast_memory() const { return block_->memory_.data(); }
    template <int k>
    sums<double, k> sum(const sums<double, k>& value) const {
      for (int which = 0; which < k; ++which)
        block_->of_threads_[static_cast<std::size_t>(rank_)][which] = value[which];
      sync();
      sums<double, k> total{};
      for (const auto& one : block_->of_threads_)
        for (int which = 0; which < k; ++which) total.value[which] += one[which];
      sync();
      return total;
    }

   private:
    block_of_threads* block_;
    int rank_;
  };
  /// The map at 0 to count - 1, one after the other.
  template <class Map>
  void run(const Map& map, index_type count) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([&, rank] {
        const member one(*this, rank);
        for (index_type i = 0; i < count; ++i) {
          map(i, one);
          one.sync();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  int size_;
  std::barrier<> meet_;
  std::vector<double> memory_;
  struct numbers {
    double value[4];
    double& operator[](int k) { return value[k]; }
    double operator[](int k) const { return value[k]; }
  };
  std::vector<numbers> of_threads_;
};

/// Counts its visits, and sums i + 1 and the column's number, in whole numbers: any order gives the same.
struct count_visits {
  int* visits;
  index_type left_out;  ///< a pair
  struct known {
    index_type pair;
    bool runs;
  };
  known read(index_type pair) const { return {pair, pair != left_out}; }
  column_sums<2> operator()(index_type i, index_type at, const known& of_pair) const {
    ++visits[at];
    const auto row = static_cast<double>(i + 1), first = static_cast<double>(2 * of_pair.pair);
    return {{{row, row}, {first, first + 1}}};
  }
  index_type bytes(const column_layout&) const { return 0; }
};

struct keep_totals {
  double (*totals)[2];
  bool is_asked(index_type column) const { return column != 1; }
  bool operator()(index_type column, const sums<double, 2>& total) const {
    totals[column][0] = total[0];
    totals[column][1] = total[1];
    return column == 0;
  }
};

}  // namespace

TEST_CASE("a block visits each row of each pair of columns once, and sums by column", "[columns]") {
  for (const index_type columns : {1, 2, 3, 5, 16, 63, 64}) {
    for (const index_type rows : {1, 7, 64, 65, 300}) {
      for (const int threads : {1, 32, 64}) {
        if (threads < (columns + 1) / 2 && threads > 1) continue;
        INFO(columns << " columns, " << rows << " rows, " << threads << " threads");
        const column_layout of(rows, columns);
        REQUIRE(of.pieces * of.rows_a_piece >= rows);
        REQUIRE((of.pieces - 1) * of.rows_a_piece < rows);
        std::vector<int> visits(static_cast<std::size_t>(of.entries()));
        std::vector<double> partial(static_cast<std::size_t>(of.numbers_of_sums(2)), -1);
        const index_type left_out = columns > 4 ? 2 : -1;
        const whilst::by_pieces<count_visits> map{of, {visits.data(), left_out}, partial.data()};
        block_of_threads block(threads);
        block.run(map, of.pieces);
        for (index_type at = 0; at < of.entries(); ++at)
          REQUIRE(visits[static_cast<std::size_t>(at)] == (at % of.pairs == left_out ? 0 : 1));

        double totals[64][2] = {};
        const whilst::by_columns<2, keep_totals> judge{of, partial.data(), {totals}};
        block.run(judge, of.all_columns());
        for (index_type column = 0; column < of.all_columns(); ++column) {
          const bool counts = column / 2 != left_out && column != 1;
          CHECK(totals[column][0] == (counts ? static_cast<double>(rows * (rows + 1) / 2) : 0));
          CHECK(totals[column][1] == (counts ? static_cast<double>(rows * column) : 0));
        }
      }
    }
  }
}

TEST_CASE("a large matrix is shared out in at most 2048 pieces", "[columns]") {
  for (const index_type rows : {index_type{0}, index_type{131'072}, index_type{131'073}, index_type{1} << 40}) {
    const column_layout of(rows, 64);
    CHECK(of.pieces <= 2048);
    CHECK(of.pieces * of.rows_a_piece >= rows);
  }
}

}  // namespace whilst_test
