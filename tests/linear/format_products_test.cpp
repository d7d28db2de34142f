// The products of each matrix format, against sums over the entries and against Eigen.

#include <cmath>
#include <limits>
#include <memory>

#include "solvers/linear/formats/formats.hpp"
#include "tests/catch.hpp"
#include "tests/linear/format_patterns.hpp"
#include "tests/under_sanitizers.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/sliced_operator.hpp"

namespace whilst_test {

using whilst::buffer;
using whilst::csr_matrix;
using whilst::index_type;
using whilst::place;

namespace {

const std::vector<std::string> layouts{"bsr", "sell", "ell", "balanced"};

/// A recorded product, and the diagonal, of a matrix in a format.
template <class T>
class product {
 public:
  product(const csr_matrix<T>& A, const std::string& format, const std::string& executor)
      : where_(executor == "host" ? place::host() : place::gpu(0)),
        placed_(A, where_, true),
        matrix_(whilst::make_formatted_matrix<T>(format, A, placed_.request())),
        given_(placed_.request().values),
        values_(where_, 1, &given_),
        x_(where_, A.columns()),
        y_(where_, A.rows()),
        d_(where_, A.rows()) {
    whilst::program_recorder record(where_);
    record.arena([&](whilst::arena_layout& memory) { matrix_->take_memory(memory); });
    matrix_->read_values_from({values_.data()});
    matrix_->prepare(record);
    // The second product finds what the first one leaves.
    for (int times = 0; times < 2; ++times) matrix_->apply(record, x_.data(), y_.data());
    if (A.rows() == A.columns()) matrix_->diagonal(record, d_.data());
    run_ = std::make_unique<whilst::program>(std::move(record).finish());
    run_->prepare({.how = whilst::executor_from_name(executor)});
  }
  std::vector<T> operator()(const std::vector<T>& x) {
    // What was there before must not matter.
    const std::vector<T> nothing(static_cast<std::size_t>(y_.size()), std::numeric_limits<T>::quiet_NaN());
    if (!x.empty()) x_.upload(x.data());
    if (y_.size() > 0) y_.upload(nothing.data());
    run_->enqueue(nullptr);
    run_->wait();
    return copied(y_);
  }
  std::vector<T> diagonal() const { return copied(d_); }
  whilst::formatted_matrix<T>& matrix() const { return *matrix_; }
  /// From now on the values are read from here, memory of the place.
  void bind(const T* values) { values_.upload(&(given_ = values)); }

 private:
  static std::vector<T> copied(const buffer<T>& from) {
    std::vector<T> here(static_cast<std::size_t>(from.size()));
    if (!here.empty()) from.download(here.data());
    return here;
  }
  place where_;
  whilst::matrix_on_place<T> placed_;
  std::unique_ptr<whilst::formatted_matrix<T>> matrix_;
  const T* given_;
  buffer<const T*> values_;
  buffer<T> x_, y_, d_;
  std::unique_ptr<whilst::program> run_;
};

/// y = A x, entry by entry.
template <class T>
std::vector<T> by_entries(const csr_matrix<T>& A, const std::vector<T>& x) {
  std::vector<T> y(static_cast<std::size_t>(A.rows()), T(0));
  for (index_type i = 0; i < A.rows(); ++i)
    for (index_type k = A.row_offset(i); k < A.row_offset(i + 1); ++k)
      y[static_cast<std::size_t>(i)] += A.values()[static_cast<std::size_t>(k)] *
                                        x[static_cast<std::size_t>(A.column_indices()[static_cast<std::size_t>(k)])];
  return y;
}

template <class T>
bool same_or_both_nan(const std::vector<T>& one, const std::vector<T>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](T a, T b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

/// Whether a format can hold it: matrices without blocks are refused by bsr.
template <class T>
bool is_refused(const csr_matrix<T>& A, const std::string& format) {
  try {
    product<T>(A, format, "host");
    return false;
  } catch (const whilst::error& problem) {
    CHECK(format == "bsr");
    CHECK(std::string(problem.what()) ==
          "storing a matrix as bsr: in blocks of any size from 2 to 6 it would be larger than in csr. Use another "
          "format, or auto");
    return true;
  }
}

template <class T>
void check_products(const csr_matrix<T>& A) {
  const auto columns = static_cast<std::size_t>(A.columns());
  const std::vector<T> x = whole_numbers<T>(columns, 2), expected = by_entries(A, x);
  const Eigen::SparseMatrix<double, Eigen::RowMajor> of_eigen = to_eigen(A);
  const Eigen::VectorXd by_eigen = of_eigen * to_eigen(x), diagonal = of_eigen.diagonal();
  std::vector<T> poisoned = x;
  for (std::size_t j = columns / 3; j < columns; j += 1 + columns / 3)
    poisoned[j] = j % 2 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
  const std::vector<T> with_poison = by_entries(A, poisoned);
  for (const std::string& format : layouts) {
    if (is_refused(A, format)) continue;
    for (const std::string& executor : executors_with_steps()) {
      INFO(format << ", " << executor);
      product<T> multiply(A, format, executor);
      const std::vector<T> y = multiply(x);
      CHECK((y == expected));
      CHECK((to_eigen(y) - by_eigen).norm() == 0);
      // Padding touches no entry of x.
      CHECK(same_or_both_nan(multiply(poisoned), with_poison));
      CHECK((multiply(x) == expected));
      if (A.rows() == A.columns()) CHECK((to_eigen(multiply.diagonal()) - diagonal).norm() == 0);
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("products in every format with hard patterns", "[linear][format][sanitizer]", float, double) {
  for (const pattern& one : hard_patterns()) {
    INFO(one.name);
    check_products(matrix_of<TestType>(one));
    check_products(matrix_of<TestType, std::int64_t>(one));
  }
}

TEMPLATE_TEST_CASE("products of matrices with blocks", "[linear][format][sanitizer]", float, double) {
  for (const pattern& one : hard_patterns()) {
    if (one.rows.size() > 500) continue;
    for (const int block : {2, 3, 4, 5, 6}) {
      if (one.columns > 5000 && block != 3) continue;
      if (under_sanitizers && (sizeof(TestType) == 8 ? block % 2 == 0 : block % 2 != 0)) continue;  // each size once
      const auto full = matrix_of<TestType>(in_blocks(one, block, 0, 0));
      INFO(one.name << ", blocks of " << block);
      CHECK_FALSE(is_refused(full, "bsr"));
      check_products(full);
      check_products(matrix_of<TestType>(in_blocks(one, block, 10, 0)));
      check_products(matrix_of<TestType>(in_blocks(one, block, 5, 1)));
    }
  }
}

TEMPLATE_TEST_CASE("a format gathers new values", "[linear][format]", float, double) {
  const auto A = matrix_of<TestType>(in_blocks(power_law(30), 3, 5, 0));
  const std::vector<TestType> x = whole_numbers<TestType>(static_cast<std::size_t>(A.columns()), 2);
  std::vector<TestType> twice(A.values().begin(), A.values().end()), expected = by_entries(A, x);
  for (TestType& value : twice) value *= 2;
  for (TestType& value : expected) value *= 2;
  for (const std::string& executor : executors_with_steps()) {
    const buffer<TestType> others(executor == "host" ? place::host() : place::gpu(0), A.nonzeros(), twice.data());
    for (const std::string& format : layouts) {
      INFO(format << ", " << executor);
      product<TestType> multiply(A, format, executor);
      multiply(x);
      multiply.bind(others.data());
      CHECK((multiply(x) == expected));
    }
  }
}

TEST_CASE("values that float can hold, and values that it cannot", "[linear][format]") {
  const auto A = matrix_of<double>(in_blocks(power_law(40), 3, 5, 0));
  const std::vector<double> x = whole_numbers<double>(static_cast<std::size_t>(A.columns()), 2);
  // One value a little off: by what 8 binary digits do not hold, by what a float does not, by a third, by infinity, and
  // by NaN.
  for (const double added : {0x1p-12, 0x1p-30, 1.0 / 3, std::numeric_limits<double>::infinity(), std::nan("")}) {
    std::vector<double> values(A.values().begin(), A.values().end());
    values[values.size() / 2] += added;
    const csr_matrix<double> other(A.rows(), A.columns(), A.row_offsets_32(), A.column_indices(), values);
    for (const std::string& executor : executors_with_steps()) {
      const buffer<double> others(executor == "host" ? place::host() : place::gpu(0), A.nonzeros(), values.data());
      for (const std::string& format : layouts) {
        INFO(format << ", " << executor << ", " << added);
        product<double> multiply(A, format, executor);
        CHECK((multiply(x) == by_entries(A, x)));
        multiply.bind(others.data());
        const std::vector<double> y = multiply(x), expected = by_entries(other, x);
        for (std::size_t i = 0; i < y.size(); ++i) {
          if (std::isfinite(expected[i]))
            CHECK(std::abs(y[i] - expected[i]) <= 1e-13 * (1 + std::abs(expected[i])));
          else
            CHECK(!std::isfinite(y[i]));
        }
      }
    }
  }
}

TEST_CASE("in how many bytes the values of a matrix are kept", "[linear][format]") {
  const auto bytes = [](std::vector<double> values, bool rounds = false, int most = 8) {
    whilst::sums<double, 3> of_all{};
    for (const double value : values) of_all += whilst::choose_value_bytes::judge(value);
    int chosen = 0;
    whilst::choose_value_bytes{rounds, most, &chosen}(of_all);
    return chosen;
  };
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(bytes({}) == 2);
  CHECK(bytes({0, -0.0, 1, -26, 255, 256, 0x1p-100, 0x1p100, infinite}) == 2);
  CHECK(bytes({1, 257}) == 4);
  CHECK(bytes({1, 1 + 0x1p-8}) == 4);
  CHECK(bytes({1, 1 + 0x1p-23}) == 4);
  CHECK(bytes({1, 1 + 0x1p-24}) == 8);
  CHECK(bytes({1, 0x1p-200}) == 8);
  CHECK(bytes({1, 0x1p200}) == 8);
  CHECK(bytes({1, std::nan("")}) == 8);
  // Rounded to float, unless it is beyond its range.
  CHECK(bytes({1, 1.0 / 3}) == 8);
  CHECK(bytes({1, 1.0 / 3}, true) == 4);
  CHECK(bytes({1, 1.0 / 3, 1e300}, true) == 8);
  CHECK(bytes({1, 1.0 / 3, 1e-300}, true) == 8);
  CHECK(bytes({1, 3}, true) == 2);
  CHECK(bytes({1.5f, 0.1f}, false, 4) == 4);
}

TEST_CASE("what each format reads", "[linear][format]") {
  // 3 x 3 blocks, 10 a row of blocks: by hand, in double.
  pattern blocks{"", 300, {}};
  for (int i = 0; i < 300; ++i) blocks.rows.push_back(consecutive(i / 3 % 90 * 3, 30));
  const auto A = matrix_of<double>(blocks);  // 9000 nonzeros in 1000 blocks
  const auto bytes = [&](const char* format, int value_bytes = 8) {
    return product<double>(A, format, "host").matrix().bytes_a_product(value_bytes);
  };
  CHECK(bytes("bsr") == 9000 * 8 + 1000 * 4 + 11 * 4);  // ten rows of blocks a slice
  // 300 rows are 10 slices, the last of 12 rows and padding for 20; rows are equally long, so none moves. Columns are
  // near the diagonal.
  CHECK(bytes("sell") == 320 * 30 * (8 + 2) + 11 * 4);
  CHECK(bytes("sell", 4) == 320 * 30 * (4 + 2) + 11 * 4);
  CHECK(bytes("sell", 2) == bytes("sell", 4));
  // By 8 lanes a row of 30: a slice has 4 rows.
  CHECK(bytes("ell") == 9000 * (8 + 2) + 75 * 32);
  CHECK(bytes("ell", 4) == 9000 * (4 + 2) + 75 * 32);
  CHECK(bytes("ell", 2) == 9000 * (2 + 2) + 75 * 32);
  // Nine tiles of 1024 entries; 8 bytes tell where 32 entries' rows begin.
  CHECK(bytes("balanced") == 9000 * 12 + 9 * (8 + 32 * 8));
}

TEST_CASE("sigma sorts rows of unequal length into slices", "[linear][format]") {
  pattern unequal{"", 64, {}};
  for (int i = 0; i < 64; ++i) unequal.rows.push_back(consecutive(0, i % 2 ? 40 : 2));
  const auto A = matrix_of<double>(unequal);
  const auto bytes = [&](const char* format) { return product<double>(A, format, "host").matrix().bytes_a_product(8); };
  CHECK(bytes("sell") == 32 * (40 + 2) * 10 + 3 * 4 + 64 * 4);
}

TEST_CASE("columns that are far from the diagonal", "[linear][format]") {
  // The farthest that 16 bits can tell, and one beyond, on either side.
  for (const int far : {32767, 32768}) {
    pattern corners{"", far + 1, {}};
    corners.rows.push_back({0, far});
    for (int i = 1; i < far; ++i) corners.rows.push_back({i});
    corners.rows.push_back({0, far});
    const auto A = matrix_of<double>(corners);
    INFO(far);
    const auto read = product<double>(A, "sell", "host").matrix().bytes_a_product(8);
    // Two slices are 2 wide, the others 1. The last row comes first in its window, unless it is alone there.
    const index_type slices = (far + 32) / 32, stored = 32 * (slices + 2), moved = far == 32767 ? 32 * slices * 4 : 0;
    CHECK(read == stored * (far == 32767 ? 10 : 12) + (slices + 1) * 4 + moved);
    check_products(A);
  }
}

}  // namespace whilst_test
