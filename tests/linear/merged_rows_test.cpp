// compiled by nvcc where CUDA is on
// Products of sparse matrices by one merge of their rows, against Eigen's.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "solvers/linear/multigrid/patterns/merged_rows.hpp"

#include <Eigen/SparseCore>
#include <limits>
#include <random>
#include <tuple>

#include "kernels/engine/memory/copies.hpp"
#include "solvers/host/run_now.hpp"
#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/hierarchy_there.hpp"
#include "tests/linear/systems.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/gallery.hpp"

namespace whilst_test {
namespace {

using whilst::buffer, whilst::index_type, whilst::multigrid::pattern_view;
using eigen_matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;

/// Small whole numbers, so that sums of products are exact; none is 0, so that no entry of a product is.
eigen_matrix whole_numbers(int rows, int columns, int entries, unsigned seed) {
  std::mt19937 generator(seed);
  const auto below = [&](int most) { return static_cast<int>(generator() % static_cast<unsigned>(most)); };
  std::vector<Eigen::Triplet<double>> list;
  for (int i = 0; i < rows; ++i)
    for (int e = below(2 * entries); e >= 0; --e) list.emplace_back(i, below(columns), 1 + below(9));
  eigen_matrix A(rows, columns);
  A.setFromTriplets(list.begin(), list.end());
  return A;
}

struct matrix_there {
  buffer<std::int32_t> offsets, indices;
  buffer<float> values;
  pattern_view pattern;

  matrix_there(whilst::place where, const eigen_matrix& A)
      : offsets(where, A.rows() + 1, A.outerIndexPtr()),
        indices(where, A.nonZeros(), A.innerIndexPtr()),
        values(where, A.nonZeros(), std::vector<float>(A.valuePtr(), A.valuePtr() + A.nonZeros()).data()),
        pattern{A.rows(), A.cols(), A.nonZeros(), offsets.data(), indices.data()} {}
  whilst::multigrid::matrix_view<float> view() const { return {pattern, values.data()}; }
};
using copy_pattern = copy_values<std::int32_t, std::int32_t>;

/// What was made of A B, where memory for levels begins with so many bytes.
struct product_found {
  bool is_bounded = false, is_merged = false;
  std::int32_t bound = 0;
  eigen_matrix product;
};
product_found product_by_one_merge(whilst::place where, const eigen_matrix& A, const eigen_matrix& B, std::size_t bytes,
                                   bool knows_columns) {
  const matrix_there a(where, A), b(where, B);
  pattern_view of_b = b.pattern;
  if (!knows_columns) of_b.columns = 0;
  whilst::multigrid::level_memory kept(where, bytes);
  kept.take<std::byte>(1);
  whilst::multigrid::level_memory scratch(kept);
  whilst::shared_memory_block told(where, sizeof(std::int32_t));
  const auto tell = [&](whilst::recorder& run, const std::int32_t* size) {
    run.once("tell", whilst::multigrid::tell_sizes{{size}, static_cast<std::int32_t*>(told.data())});
  };
  const auto size_told = [&] { return *static_cast<const std::int32_t*>(told.data()); };
  whilst::recorded_stages stages(where);
  whilst::multigrid::merged_rows<float> rows;

  product_found found;
  const std::int32_t* const bound = rows.record_bounds(stages.steps(), a.pattern, of_b, scratch);
  found.is_bounded = bound != nullptr;
  if (bound) tell(stages.steps(), bound);
  stages.run();
  found.bound = bound ? size_told() : 0;
  pattern_view product;
  found.is_merged = rows.record_merge(stages.steps(), "A B", found.bound, a.view(), nullptr, b.view(),
                                      /*skips_long_rows=*/false, product, kept, scratch);
  if (!found.is_merged) return found;
  tell(stages.steps(), product.offsets + A.rows());
  stages.run();
  const std::int32_t nonzeros = size_told();
  const buffer<std::int32_t> offsets(where, A.rows() + 1), indices(where, nonzeros);
  const buffer<float> values(where, nonzeros);
  take_columns_of(product, B.cols(), nonzeros, kept);
  rows.record_copies(stages.steps(), product, indices.data(), values.data());
  stages.steps().step("offsets", A.rows() + 1, copy_pattern{product.offsets, offsets.data()});
  stages.run();
  const auto o = whilst_test::values(offsets), i = whilst_test::values(indices);
  const auto v = whilst_test::values(values);
  const std::vector<double> in_double(v.begin(), v.end());
  found.product = Eigen::Map<const eigen_matrix>(A.rows(), B.cols(), nonzeros, o.data(), i.data(), in_double.data());
  return found;
}
/// Whether both have the same entries in the same order.
bool are_same(const eigen_matrix& one, const eigen_matrix& other) {
  return one.rows() == other.rows() && one.nonZeros() == other.nonZeros() &&
         std::equal(one.outerIndexPtr(), one.outerIndexPtr() + one.rows() + 1, other.outerIndexPtr()) &&
         std::equal(one.innerIndexPtr(), one.innerIndexPtr() + one.nonZeros(), other.innerIndexPtr()) &&
         std::equal(one.valuePtr(), one.valuePtr() + one.nonZeros(), other.valuePtr());
}
std::int64_t entries_named(const eigen_matrix& A, const eigen_matrix& B, bool knows_columns) {
  std::int64_t all = 0;
  for (int i = 0; i < A.rows(); ++i) {
    std::int64_t of_row = 0;
    for (eigen_matrix::InnerIterator e(A, i); e; ++e)
      of_row += B.outerIndexPtr()[e.col() + 1] - B.outerIndexPtr()[e.col()];
    all += knows_columns ? std::min<std::int64_t>(of_row, B.cols()) : of_row;
  }
  return all;
}

}  // namespace

TEST_CASE("one merge makes the product that Eigen makes", "[linear][amg][sanitizer]") {
  const int rows = 5000;
  for (const way& w : ways()) {
    for (const auto& [columns, entries] : {std::pair{3000, 3}, {40, 9}, {1, 1}}) {  // rows of B; the last ones are full
      INFO(w.name << ", " << columns << " columns");
      const eigen_matrix A = whole_numbers(rows, 4000, 20, 1), B = whole_numbers(4000, columns, entries, 2);
      for (const bool knows_columns : {true, false}) {
        const product_found found = product_by_one_merge(w.where, A, B, 1 << 26, knows_columns);
        REQUIRE(found.is_merged);
        CHECK(found.bound == entries_named(A, B, knows_columns));
        CHECK(are_same(found.product, eigen_matrix(A * B)));
      }
    }
  }
}

TEST_CASE("a product is counted where one merge does not pay or finds no room", "[linear][amg]") {
  for (const way& w : ways()) {
    INFO(w.name);
    const eigen_matrix A = whole_numbers(5000, 4000, 20, 1), B = whole_numbers(4000, 3000, 3, 2);
    const product_found without_room = product_by_one_merge(w.where, A, B, 1 << 20, true);
    CHECK(without_room.is_bounded);
    CHECK_FALSE(without_room.is_merged);
    const auto is_bounded = [&](const eigen_matrix& of) {
      return product_by_one_merge(w.where, of, B, 1 << 26, true).is_bounded;
    };
    CHECK(is_bounded(whole_numbers(256, 4000, 20, 1)));
    CHECK_FALSE(is_bounded(whole_numbers(255, 4000, 20, 1)));
    CHECK_FALSE(is_bounded(whole_numbers(5000, 4000, 9, 1)));
  }
}

TEST_CASE("a sum of bounds beyond 32 bits makes no merge", "[linear][amg]") {
  for (const way& w : ways()) {
    INFO(w.name);
    // Offsets are all that is read of B, so they may tell of entries that are not there: 2^29 in its row 0.
    const int rows = 5000;
    const matrix_there A(w.where, whole_numbers(rows, 1, 1, 1)), wide(w.where, whole_numbers(rows, 300, 20, 1));
    std::vector<std::int32_t> offsets(301, 1 << 29);
    offsets[0] = 0;
    const buffer<std::int32_t> there(w.where, 301, offsets.data());
    whilst::multigrid::level_memory kept(w.where, 1 << 20);
    whilst::multigrid::level_memory scratch(kept);
    whilst::recorded_stages stages(w.where);
    whilst::multigrid::merged_rows<float> merged;
    const std::int32_t* const bound =
        merged.record_bounds(stages.steps(), wide.pattern, {300, 1 << 30, 0, there.data(), nullptr}, scratch);
    REQUIRE(bound);
    const buffer<std::int32_t> found(w.where, 1);
    stages.steps().step("copy", 1, copy_pattern{bound, found.data()});
    stages.run();
    CHECK(values(found)[0] == std::numeric_limits<std::int32_t>::max());
    pattern_view product;
    CHECK_FALSE(merged.record_merge(stages.steps(), "A B", values(found)[0], wide.view(), nullptr, A.view(), false,
                                    product, kept, scratch));
  }
}

namespace {

/// Values of all levels, in a form that is the same on all places.
template <class C>
std::vector<std::vector<C>> values_of_levels(whilst::place where, const whilst::multigrid::hierarchy<C>& levels) {
  std::vector<std::vector<C>> found;
  const auto take = [&](const C* from, index_type count) {
    if (!from) count = 0;
    const buffer<C> copied(where, count);
    whilst::program_recorder copying(where);
    copying.step("copy", count, copy_values<C, C>{from, copied.data()});
    whilst::run_now(std::move(copying).finish(), where);
    found.push_back(values(copied));
  };
  for (const auto& one : levels.levels()) {
    take(one.A_values, one.A.nonzeros);
    take(one.P_values, one.P.nonzeros);
    take(one.AP_values, one.AP.nonzeros);
    take(one.ATRT_values, one.AP.nonzeros);
  }
  const index_type coarsest = levels.levels().back().unknowns();
  take(levels.inverse(), coarsest * coarsest);
  return found;
}

}  // namespace

TEMPLATE_TEST_CASE("levels made by one merge have the values that a refresh gives them", "[linear][amg]", float,
                   double) {
  // Large enough that R A P, and A P on the second level, are merged once; a refresh merges them on patterns that are
  // there.
  const auto A = whilst::make_gallery<double>("poisson3d:36").matrix;
  for (const way& w : ways()) {
    for (const auto& [smoother, coarsening, symmetric] : {std::tuple("spai0", "aggregation", true),
                                                          {"gauss_seidel", "aggregation", true},
                                                          {"spai0", "aggregation", false},
                                                          {"gauss_seidel", "classical", true}}) {
      // Each in one number type.
      if (under_sanitizers && (std::string(smoother) == "spai0") == (sizeof(TestType) == 4)) continue;
      INFO(w.name << ", " << smoother << ", " << coarsening << (symmetric ? "" : ", as unsymmetric"));
      whilst::amg_options options;
      options.smoother = smoother;
      options.coarsening = coarsening;
      hierarchy_there<TestType> there(w.where, A, symmetric, options);
      REQUIRE(there.levels.levels().size() >= 3);
      CHECK(there.levels.levels()[1].A.rows >= 256);
      const auto made = values_of_levels(w.where, there.levels);
      whilst::program_recorder refresh(w.where);
      there.levels.record_values(refresh);
      whilst::run_now(std::move(refresh).finish(), w.where);
      CHECK((made == values_of_levels(w.where, there.levels)));  // without printing 10 000 numbers
    }
  }
}

namespace {

/// Without a program or anything else that takes long.
template <class C>
void read_inverse(whilst::place where, const whilst::multigrid::hierarchy<C>& levels, std::vector<C>& into) {
  whilst::copy_from_place(where, into.data(), levels.inverse(), into.size() * sizeof(C));
}

}  // namespace

TEMPLATE_TEST_CASE("the inverse on amg's coarsest level may be made while the host goes on", "[linear][amg]", float,
                   double) {
  // On a GPU some 30 blocks of pivots, one after another, which take longer than the host to look at the end of them.
  const auto A = whilst::make_gallery<double>(under_sanitizers ? "poisson3d:8" : "poisson3d:18").matrix;
  whilst::amg_options options;
  options.coarsest_rows = 1024;
  for (const way& w : ways()) {
    INFO(w.name);
    const hierarchy_there<TestType> whole(w.where, A, /*symmetric=*/true, options);
    REQUIRE(whole.levels.has_inverse());
    const index_type n = whole.levels.levels().back().unknowns();
    std::vector<TestType> of_whole(static_cast<std::size_t>(n * n)), found = of_whole;
    read_inverse(w.where, whole.levels, of_whole);
    hierarchy_there<TestType> unfinished(w.where, A, /*symmetric=*/true, options, /*may_go_on=*/true);
    for (const char* call : {"first", "second, which has nothing to wait for"}) {
      INFO("finish(), " << call);
      unfinished.levels.finish();
      read_inverse(w.where, unfinished.levels, found);
      CHECK((found == of_whole));
    }
    const hierarchy_there<TestType> given_up(w.where, A, /*symmetric=*/true, options, /*may_go_on=*/true);
  }
}

}  // namespace whilst_test
