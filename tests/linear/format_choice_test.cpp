// What format "auto" takes, by what is known of each matrix.

#include <string>

#include "solvers/linear/formats/formats.hpp"
#include "tests/catch.hpp"
#include "tests/linear/format_patterns.hpp"
#include "whilst/linear/matrix_on_place.hpp"

namespace whilst_test {
namespace {

/// Small matrices stand for large ones.
constexpr whilst::format_rule for_small{.least_nonzeros = 1};

template <class T>
whilst::format_choice choose(const whilst::csr_matrix<T>& A, const whilst::format_rule& rule = {}) {
  const whilst::matrix_on_place<T> placed(A, whilst::place::host(), true);
  return whilst::choose_format(A, placed.request(), rule);
}
template <class T>
std::string chosen(const whilst::csr_matrix<T>& A, const whilst::format_rule& rule = for_small) {
  const whilst::format_choice choice = choose(A, rule);
  CHECK(choice.why.rfind("since ", 0) == 0);
  return choice.format;
}

pattern arrow(int n) {
  pattern made{"arrow", n, {consecutive(0, n)}};
  for (int i = 1; i < n; ++i) made.rows.push_back({0, i});
  return made;
}

pattern grid(int points) {
  pattern made{"grid", points, {}};
  for (int i = 0; i < points; ++i) {
    std::vector<std::int32_t> row;
    for (const int j : {i - 7, i - 1, i, i + 1, i + 7})
      if (j >= 0 && j < points) row.push_back(j);
    made.rows.push_back(row);
  }
  return made;
}

}  // namespace

TEMPLATE_TEST_CASE("auto takes bsr for full blocks of 3 and more", "[linear][format]", float, double) {
  CHECK(chosen(whilst::make_gallery<TestType>("elasticity3d:3").matrix) == "bsr");
  for (const char* scalar : {"poisson1d:50", "poisson2d:20", "poisson3d:6", "anisotropic2d:20"})
    CHECK(chosen(whilst::make_gallery<TestType>(scalar).matrix) == "csr");
  const pattern points = grid(100);
  for (const int block : {3, 4, 5, 6}) {
    INFO(block);
    const auto whole = in_blocks(points, block, 0, 0);
    CHECK(chosen(matrix_of<TestType>(whole)) == "bsr");
    CHECK(chosen(matrix_of<TestType, std::int64_t>(whole)) == "bsr");
    CHECK(choose(matrix_of<TestType>(whole), for_small).why ==
          "since its nonzeros form full blocks of " + std::to_string(block) + " x " + std::to_string(block));
    CHECK(chosen(matrix_of<TestType>(in_blocks(points, block, 2, 0))) == "csr");
    // One entry is missing, one is elsewhere, two are out of order.
    pattern missing = whole, elsewhere = whole, unsorted = whole;
    missing.rows[50].pop_back();
    elsewhere.rows[50].back() = 0;
    std::swap(unsorted.rows[50][0], unsorted.rows[50][1]);
    for (const pattern* one : {&missing, &elsewhere, &unsorted}) CHECK(chosen(matrix_of<TestType>(*one)) == "csr");
    // The blocks do not begin at multiples of their size.
    pattern shifted = whole;
    shifted.rows.insert(shifted.rows.begin(), std::vector<std::int32_t>{0});
    shifted.rows.pop_back();
    CHECK(chosen(matrix_of<TestType>(shifted)) == "csr");
  }
  CHECK(chosen(matrix_of<TestType>(in_blocks(points, 2, 0, 0))) == "csr");
  CHECK(chosen(matrix_of<TestType>(in_blocks(points, 2, 0, 0)), {.least_nonzeros = 1, .least_block = 2}) == "bsr");
}

TEMPLATE_TEST_CASE("auto takes balanced for rows that outlast the others", "[linear][format]", float, double) {
  CHECK(chosen(matrix_of<TestType>(arrow(3000)), {}) == "balanced");
  CHECK(chosen(matrix_of<TestType>(power_law(5000)), {}) == "balanced");
  CHECK(chosen(matrix_of<TestType>(arrow(500)), {}) == "csr");  // too short to be noticed
  CHECK(choose(matrix_of<TestType>(arrow(3000))).why == "since the longest row has 3000 nonzeros, the average 3.0");
  // All rows are long: that is what lanes are for.
  pattern dense{"dense", 2000, {}};
  for (int i = 0; i < 50; ++i) dense.rows.push_back(consecutive(0, 2000));
  CHECK(chosen(matrix_of<TestType>(dense), {}) == "csr");
  // Long, and yet a small part of the whole.
  CHECK(chosen(matrix_of<TestType>(arrow(3000)), {.least_nonzeros = 1, .least_part = 0.5}) == "csr");
}

TEMPLATE_TEST_CASE("auto takes ell for rows of one length whose entries are near", "[linear][format]", float, double) {
  constexpr whilst::format_rule for_slices{.least_bytes_in_slices = 1};
  for (const char* stencil : {"poisson1d:1000", "poisson2d:40", "poisson3d:14", "anisotropic2d:40"}) {
    INFO(stencil);
    const auto A = whilst::make_gallery<TestType>(stencil).matrix;
    CHECK(chosen(A, for_slices) == "ell");
    CHECK(choose(A, for_slices).why ==
          "since its rows are equally long, and entries of neighbouring rows near one another");
  }
  CHECK(chosen(whilst::make_gallery<TestType>("elasticity3d:3").matrix,
               {.least_nonzeros = 1, .least_bytes_in_slices = 1}) == "bsr");
  // Every second row is short; one row of many does not fit a slice; columns are anywhere; all rows are empty.
  pattern uneven{"", 2000, {}}, cut = uneven, far{"", 200'000, {}}, none = uneven;
  for (int i = 0; i < 2000; ++i) {
    uneven.rows.push_back(consecutive(i < 1990 ? i : 1990, i % 2 ? 1 : 5));
    cut.rows.push_back(consecutive(i < 1980 ? i : 1980, i == 1234 ? 20 : 6));
    far.rows.push_back({i * 7919 % 200'000, (i + 1) * 6007 % 200'000});
    none.rows.push_back({});
  }
  for (const pattern* one : {&uneven, &cut, &far, &none}) CHECK(chosen(matrix_of<TestType>(*one), for_slices) == "csr");
}

TEMPLATE_TEST_CASE("auto leaves small matrices in csr", "[linear][format]", float, double) {
  CHECK(chosen(whilst::make_gallery<TestType>("elasticity3d:3").matrix, {}) == "csr");
  CHECK(choose(whilst::make_gallery<TestType>("poisson1d:20").matrix).why ==
        "since the matrix has fewer than 10000000 nonzeros and no very long row");
  CHECK(choose(whilst::make_gallery<TestType>("poisson1d:20").matrix, for_small).why ==
        "since the matrix has neither very long rows nor full blocks");
  CHECK(chosen(matrix_of<TestType>(pattern{"no rows", 0, {}})) == "csr");
  CHECK(chosen(matrix_of<TestType>(pattern{"no entries", 3, {{}, {}, {}}})) == "csr");
}

}  // namespace whilst_test
