#include "whilst/csr_matrix.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "tests/catch.hpp"
#include "whilst/engine/steps/host_threads.hpp"

namespace {

using whilst::csr_matrix;
using offsets_32 = std::vector<std::int32_t>;
using offsets_64 = std::vector<std::int64_t>;
using indices = std::vector<std::int32_t>;

/// The message of the whilst::error that `work` throws, and nothing where it throws none.
template <class Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return {};
}

/// Calls check(), which constructs matrices, with 1 to 7 threads, and on a thread that may have no others.
template <class Check>
void with_each_number_of_threads(const Check& check) {
#if defined(_OPENMP)
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 3, 7}) {
    INFO(threads << " threads");
    omp_set_num_threads(threads);
    check();
  }
  omp_set_num_threads(before);
#endif
  check();
  whilst::run_on_threads(2, 2, 1, [&](whilst::index_type k) {
    if (k == 0) check();  // one thread at a time may use Catch2
  });
}

// [1 0 2]
// [0 0 0]
// [3 4 5], columns of the last row unsorted.
const offsets_32 small_offsets{0, 2, 2, 5};
const indices small_columns{0, 2, 2, 0, 1};
const std::vector<double> small_values{1, 2, 5, 3, 4};

}  // namespace

TEST_CASE("a host matrix holds a copy of what it was given, in the order given") {
  offsets_32 offsets = small_offsets;
  indices columns = small_columns;
  std::vector<double> values = small_values;
  const csr_matrix<double> matrix(3, 3, offsets, columns, values);
  offsets.assign(4, 0);
  columns.assign(5, 0);
  values.assign(5, 0.0);

  CHECK(matrix.rows() == 3);
  CHECK(matrix.columns() == 3);
  CHECK(matrix.nonzeros() == 5);
  CHECK_FALSE(matrix.is_on_device());
  CHECK_FALSE(matrix.has_64bit_offsets());
  CHECK(offsets_32(matrix.row_offsets_32().begin(), matrix.row_offsets_32().end()) == small_offsets);
  CHECK(indices(matrix.column_indices().begin(), matrix.column_indices().end()) == small_columns);
  CHECK(std::vector<double>(matrix.values().begin(), matrix.values().end()) == small_values);
  CHECK(matrix.row_offset(1) == 2);
  CHECK(matrix.row_offset(3) == 5);
  CHECK(matrix.row_offsets_data() == matrix.row_offsets_32().data());
  CHECK(matrix.column_indices_data() == matrix.column_indices().data());
  CHECK(matrix.values_data() == matrix.values().data());
}

TEST_CASE("copies share their arrays and outlive the first") {
  auto first = std::make_unique<csr_matrix<double>>(3, 3, small_offsets, small_columns, small_values);
  const csr_matrix<double> second = *first;
  CHECK(second.values_data() == first->values_data());
  first.reset();
  CHECK(second.values()[2] == 5);
}

TEST_CASE("adopted arrays are not copied") {
  std::vector<float> values{1, 2};
  const float* const data = values.data();
  const auto matrix = csr_matrix<float>::adopt(2, 4, offsets_64{0, 1, 2}, indices{3, 0}, std::move(values));
  CHECK(matrix.values_data() == data);
  CHECK(matrix.has_64bit_offsets());
  CHECK(matrix.row_offset(2) == 2);
  CHECK(offsets_64(matrix.row_offsets_64().begin(), matrix.row_offsets_64().end()) == offsets_64{0, 1, 2});
}

TEST_CASE("a matrix may be empty, and may hold NaN") {
  const csr_matrix<double> nothing(0, 0, offsets_32{0}, indices{}, std::vector<double>{});
  CHECK(nothing.rows() == 0);
  CHECK(nothing.nonzeros() == 0);
  CHECK_FALSE(nothing.is_on_device());
  const csr_matrix<double> flat(2, 0, offsets_64{0, 0, 0}, indices{}, std::vector<double>{});
  CHECK(flat.row_offset(2) == 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const csr_matrix<double> odd(1, 1, offsets_32{0, 1}, indices{0}, std::vector<double>{nan});
  CHECK(std::isnan(odd.values()[0]));
}

TEST_CASE("arrays that do not fit are refused with the first entry that breaks the rule") {
  const auto message = [](whilst::index_type rows, whilst::index_type columns, const offsets_32& offsets,
                          const indices& places, std::size_t values) {
    const std::vector<double> ones(values, 1.0);
    const std::string narrow = message_of([&] { csr_matrix<double>(rows, columns, offsets, places, ones); });
    const offsets_64 wide(offsets.begin(), offsets.end());
    CHECK(message_of([&] { csr_matrix<double>(rows, columns, wide, places, ones); }) == narrow);
    return narrow;
  };
  const std::string doing = "making a CSR matrix of 2 x 3: ";
  CHECK(message(2, 3, {0, 1, 2}, {0, 1}, 2).empty());
  CHECK(message(2, 3, {0, 1}, {0}, 1) == doing + "row_offsets has 2 entries. Give rows + 1");
  CHECK(message(2, 3, {}, {}, 0) == doing + "row_offsets has 0 entries. Give rows + 1");
  CHECK(message(2, 3, {1, 1, 2}, {0, 1}, 2) == doing + "row_offsets[0] is 1. Start the offsets with 0");
  CHECK(message(2, 3, {0, 3, 2}, {0, 1}, 2) ==
        doing + "row_offsets[2] is 2, less than 3 before it. Give offsets that never fall");
  CHECK(message(2, 3, {0, 1, 2}, {0}, 2) ==
        doing + "column_indices has 1 entries. Give as many as row_offsets[rows] says: 2");
  CHECK(message(2, 3, {0, 1, 2}, {0, 1}, 3) ==
        doing + "values has 3 entries. Give as many as row_offsets[rows] says: 2");
  CHECK(message(2, 3, {0, 1, 2}, {0, 3}, 2) == doing + "column_indices[1] is 3. Count columns from 0 to 2");
  CHECK(message(2, 3, {0, 1, 2}, {-1, 0}, 2) == doing + "column_indices[0] is -1. Count columns from 0 to 2");
  CHECK(message(-1, 3, {0}, {}, 0) == "making a CSR matrix of -1 x 3: a size is negative. Give sizes of at least 0");
  constexpr whilst::index_type largest = std::numeric_limits<whilst::index_type>::max();
  CHECK(message(largest, 3, {0}, {}, 0).find("row_offsets has 1 entries") != std::string::npos);
  CHECK(message(0, largest, {0}, {}, 0).find("column indices have 32 bits") != std::string::npos);
}

TEST_CASE("a matrix on a device keeps its pointers and hides its arrays from the host") {
  // Never looked at, so any address does.
  const float* const values = reinterpret_cast<const float*>(std::uintptr_t{0x1000});
  const std::int32_t* const places = reinterpret_cast<const std::int32_t*>(std::uintptr_t{0x2000});
  const std::int64_t* const wide = reinterpret_cast<const std::int64_t*>(std::uintptr_t{0x3000});

  const auto narrow = csr_matrix<float>::on_device(5, 6, 7, places, places, values);
  CHECK(narrow.is_on_device());
  CHECK(narrow.rows() == 5);
  CHECK(narrow.columns() == 6);
  CHECK(narrow.nonzeros() == 7);
  CHECK_FALSE(narrow.has_64bit_offsets());
  CHECK(narrow.row_offsets_data() == places);
  CHECK(narrow.column_indices_data() == places);
  CHECK(narrow.values_data() == values);
  CHECK(message_of([&] { narrow.values(); }) ==
        "reading the values of a CSR matrix: the matrix is in device memory. Copy the array to the host first");
  CHECK_THROWS_AS(narrow.column_indices(), whilst::error);
  CHECK_THROWS_AS(narrow.row_offsets_32(), whilst::error);
  CHECK_THROWS_AS(narrow.row_offsets_64(), whilst::error);
  CHECK_THROWS_AS(narrow.row_offset(0), whilst::error);

  CHECK(csr_matrix<float>::on_device(5, 6, 7, wide, places, values).has_64bit_offsets());
  CHECK_THROWS_AS(csr_matrix<float>::on_device(5, 6, -1, wide, places, values), whilst::error);
  CHECK_THROWS_AS(csr_matrix<float>::on_device(5, -6, 7, wide, places, values), whilst::error);
  CHECK_THROWS_AS(csr_matrix<float>::on_device(5, 6, 7, wide, nullptr, values), whilst::error);
  CHECK_THROWS_AS(csr_matrix<float>::on_device(5, 6, 7, wide, places, nullptr), whilst::error);
}

TEST_CASE("offsets are asked for in the width that they have") {
  const csr_matrix<double> narrow(3, 3, small_offsets, small_columns, small_values);
  CHECK_THROWS_AS(narrow.row_offsets_64(), whilst::error);
  const csr_matrix<double> wide(3, 3, offsets_64{0, 2, 2, 5}, small_columns, small_values);
  CHECK_THROWS_AS(wide.row_offsets_32(), whilst::error);
  CHECK(wide.row_offset(3) == 5);
  CHECK_THROWS_AS(wide.row_offset(4), whilst::error);
  CHECK_THROWS_AS(wide.row_offset(-1), whilst::error);
}

TEMPLATE_TEST_CASE("row offsets and column indices of any integer type are converted", "", int, unsigned, long,
                   unsigned long, long long, unsigned long long, short, unsigned short, std::size_t) {
  const std::vector<TestType> offsets(small_offsets.begin(), small_offsets.end()),
      columns(small_columns.begin(), small_columns.end());
  const csr_matrix<double> matrix(3, 3, offsets, columns, small_values);
  CHECK(matrix.has_64bit_offsets() == std::is_same_v<TestType, std::int64_t>);
  for (whilst::index_type i = 0; i <= 3; ++i) CHECK(matrix.row_offset(i) == small_offsets[static_cast<std::size_t>(i)]);
  CHECK(std::ranges::equal(matrix.column_indices(), small_columns));
  CHECK(std::ranges::equal(matrix.values(), small_values));
  // Each may have a type of its own, and come as what a span is made of.
  const csr_matrix<double> mixed(3, 3, std::span(offsets), std::to_array({0, 2, 2, 0, 1}), small_values);
  CHECK(std::ranges::equal(mixed.column_indices(), small_columns));
  const whilst::csr_matrix deduced(3, 3, offsets, columns, small_values);
  CHECK(std::is_same_v<decltype(deduced), const csr_matrix<double>>);
}

TEST_CASE("integers beyond what a matrix can hold are refused by name, and not cut short") {
  const std::vector<float> one{1};
  const auto message = [&](const auto& offsets, const auto& columns) {
    return message_of([&] { csr_matrix<float>(1, 3, offsets, columns, one); });
  };
  using sizes = std::vector<std::size_t>;
  const std::string doing = "making a CSR matrix of 1 x 3: ";
  constexpr std::size_t beyond_32 = (std::size_t{1} << 32) + 1;  // 1, if it were cut to 32 bits
  CHECK(message(sizes{0, 1}, sizes{beyond_32}) == doing + "column_indices[0] is 4294967297. Count columns from 0 to 2");
  CHECK(message(sizes{0, 1}, std::vector<unsigned>{4294967295U}) ==
        doing + "column_indices[0] is 4294967295. Count columns from 0 to 2");
  CHECK(message(sizes{0, 1}, std::vector<long long>{-4294967295}) ==
        doing + "column_indices[0] is -4294967295. Count columns from 0 to 2");
  CHECK(message(sizes{0, beyond_32}, sizes{0}) ==
        doing + "column_indices has 1 entries. Give as many as row_offsets[rows] says: 4294967297");
  CHECK(message(sizes{0, std::numeric_limits<std::size_t>::max()}, sizes{0}) ==
        doing + "row_offsets[rows] is 18446744073709551615. Give at most 9223372036854775807 nonzeros");
  CHECK(message(std::vector<long long>{0, -1}, sizes{0}) ==
        doing + "row_offsets[1] is -1, less than 0 before it. Give offsets that never fall");
}

TEST_CASE("a borrowed matrix refers to the caller's arrays, and can be copied") {
  std::vector<double> values = small_values;
  const offsets_64 wide(small_offsets.begin(), small_offsets.end());
  const auto check = [&](const auto& offsets) {
    const auto matrix = csr_matrix<double>::borrow(3, 3, offsets, small_columns, values);
    CHECK(matrix.is_borrowed());
    CHECK_FALSE(matrix.is_on_device());
    CHECK(matrix.row_offsets_data() == offsets.data());
    CHECK(matrix.column_indices_data() == small_columns.data());
    CHECK(matrix.values_data() == values.data());
    CHECK(matrix.values().data() == values.data());
    CHECK(matrix.row_offset(3) == 5);

    const csr_matrix<double> copy = matrix.owned();
    CHECK_FALSE(copy.is_borrowed());
    CHECK(copy.has_pattern_of(matrix));
    CHECK(copy.has_64bit_offsets() == matrix.has_64bit_offsets());
    CHECK(copy.values_data() != values.data());
    CHECK(std::ranges::equal(copy.values(), values));
    CHECK(copy.owned().values_data() == copy.values_data());
  };
  check(small_offsets);
  check(wide);
  const offsets_32 falling{0, 2, 1, 5};
  CHECK(message_of([&] { csr_matrix<double>::borrow(3, 3, falling, small_columns, values); }) ==
        "making a CSR matrix of 3 x 3: row_offsets[2] is 1, less than 2 before it. Give offsets that never fall");
}

TEST_CASE("of many wrong entries the first is named, with any number of threads", "[sanitizer]") {
  // A row for each entry, enough for several threads.
  constexpr std::int64_t n = 1 << 20;
  std::vector<std::int64_t> offsets(n + 1);
  for (std::int64_t i = 0; i <= n; ++i) offsets[static_cast<std::size_t>(i)] = i;
  std::vector<std::size_t> columns(n, 5);
  const std::vector<float> values(n, 1);
  const auto message = [&] { return message_of([&] { csr_matrix<float>(n, 9, offsets, columns, values); }); };
  const std::string doing = "making a CSR matrix of 1048576 x 9: ";
  CHECK(message().empty());

  for (const std::size_t last : {n - 1, 3 * n / 4, n / 2 + 1, std::int64_t{131072}, std::int64_t{65535}}) {
    columns[last] = 9;  // with those of the passes before behind it
    with_each_number_of_threads([&] {
      CHECK(message() == doing + "column_indices[" + std::to_string(last) + "] is 9. Count columns from 0 to 8");
    });
  }
  for (const std::size_t last : {n - 1, 3 * n / 4, n / 2 + 1, std::int64_t{131072}, std::int64_t{65535}}) {
    offsets[last] = 7;
    const std::string before = std::to_string(offsets[last - 1]);
    with_each_number_of_threads([&] {
      CHECK(message() == doing + "row_offsets[" + std::to_string(last) + "] is 7, less than " + before +
                             " before it. Give offsets that never fall");
    });
  }
}

TEST_CASE("a large matrix is copied whole, with any number of threads", "[sanitizer]") {
  constexpr std::size_t n = (1 << 19) + 12345;
  std::vector<std::size_t> offsets(n + 1), columns(n);
  std::vector<double> values(n);
  for (std::size_t k = 0; k < n; ++k) offsets[k + 1] = k + 1, columns[k] = 7919 * k % n, values[k] = 0.5 * k;
  with_each_number_of_threads([&] {
    const csr_matrix<double> A(n, n, offsets, columns, values);
    CHECK(std::ranges::equal(A.row_offsets_32(), offsets, std::cmp_equal<std::int32_t, std::size_t>));
    CHECK(std::ranges::equal(A.column_indices(), columns, std::cmp_equal<std::int32_t, std::size_t>));
    CHECK(std::ranges::equal(A.values(), values));
  });
}
