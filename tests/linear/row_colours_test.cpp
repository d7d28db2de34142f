// compiled by nvcc where CUDA is on
// Colours of a matrix's rows, against what a colouring is.
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "solvers/linear/colouring/row_colours.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {
namespace {

using whilst::buffer;
using whilst::index_type;

template <class T>
struct copy_from {
  const T* from;
  T* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from[i]; }
};

/// Columns of each row.
using rows_of_pattern = std::vector<std::vector<int>>;

/// A colouring in host memory.
struct colours_found {
  std::vector<std::int32_t> colour, rows, offsets;
  bool operator==(const colours_found&) const = default;
};
colours_found colours_of(const rows_of_pattern& pattern, const whilst::place& where) {
  std::vector<std::int32_t> offsets{0}, indices;
  for (const auto& row : pattern) {
    indices.insert(indices.end(), row.begin(), row.end());
    offsets.push_back(static_cast<std::int32_t>(indices.size()));
  }
  const auto n = static_cast<index_type>(pattern.size()), nonzeros = static_cast<index_type>(indices.size());
  const buffer<std::int32_t> offsets_there(where, n + 1, offsets.data()),
      indices_there(where, nonzeros, indices.data());
  whilst::multigrid::level_memory kept(where, 4096), scratch(where, 4096);
  const whilst::colouring::row_colours found = whilst::colouring::colour_rows(
      "testing", "Use another", where, {n, n, nonzeros, offsets_there.data(), indices_there.data()}, kept, scratch);
  const auto downloaded = [&](const std::int32_t* from) {
    const buffer<std::int32_t> copied(where, n);
    whilst::program_recorder copying(where);
    copying.step("copy", n, copy_from<std::int32_t>{from, copied.data()});
    whilst::program work = std::move(copying).finish();
    work.prepare({.how = where.on_host() ? whilst::executor::host : whilst::executor::stream});
    run(work);
    return values(copied);
  };
  return {downloaded(found.colour), downloaded(found.rows), found.offsets};
}

/// Whether no entry joins two rows of a colour, each row has the least colour that its neighbours leave, and rows lie
/// in the order of their colours, and of their numbers.
bool is_colouring(const rows_of_pattern& pattern, const colours_found& found) {
  const auto n = static_cast<int>(pattern.size());
  std::vector<std::set<int>> near(pattern.size());  // colours
  for (int i = 0; i < n; ++i)
    for (const int j : pattern[static_cast<std::size_t>(i)]) {
      if (i == j) continue;
      near[static_cast<std::size_t>(i)].insert(found.colour[static_cast<std::size_t>(j)]);
      near[static_cast<std::size_t>(j)].insert(found.colour[static_cast<std::size_t>(i)]);
    }
  for (int i = 0; i < n; ++i) {
    const int own = found.colour[static_cast<std::size_t>(i)];
    const std::set<int>& others = near[static_cast<std::size_t>(i)];
    if (own < 0 || others.count(own) > 0) return false;
    for (int c = 0; c < own; ++c)
      if (others.count(c) == 0) return false;
  }
  std::vector<std::int32_t> in_order(pattern.size());
  std::iota(in_order.begin(), in_order.end(), 0);
  const auto colour_of = [&](std::int32_t i) { return found.colour[static_cast<std::size_t>(i)]; };
  std::stable_sort(in_order.begin(), in_order.end(),
                   [&](std::int32_t i, std::int32_t j) { return colour_of(i) < colour_of(j); });
  if (found.rows != in_order) return false;
  std::vector<std::int32_t> offsets{0};
  for (std::int32_t c = 0; offsets.back() < n; ++c)
    offsets.push_back(offsets.back() +
                      static_cast<std::int32_t>(std::count(found.colour.begin(), found.colour.end(), c)));
  return found.offsets == offsets;
}

/// A grid of lines; with its diagonals or without.
rows_of_pattern grid(int lines, int columns, bool with_diagonals) {
  rows_of_pattern pattern;
  for (int y = 0; y < lines; ++y)
    for (int x = 0; x < columns; ++x) {
      std::vector<int> row;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          if (y + dy >= 0 && y + dy < lines && x + dx >= 0 && x + dx < columns && (with_diagonals || dx * dy == 0))
            row.push_back((y + dy) * columns + x + dx);
      pattern.push_back(row);
    }
  return pattern;
}
rows_of_pattern dense(int n) {
  std::vector<int> row(static_cast<std::size_t>(n));
  std::iota(row.begin(), row.end(), 0);
  return rows_of_pattern(static_cast<std::size_t>(n), row);
}
/// A line of n rows that all have an entry in column 0, or whose row 0 has all entries.
rows_of_pattern line_with_hub(int n, bool is_row) {
  rows_of_pattern pattern = grid(1, n, false);
  for (int i = 2; i < n; ++i) pattern[is_row ? 0 : static_cast<std::size_t>(i)].push_back(is_row ? i : 0);
  return pattern;
}
rows_of_pattern by_chance(int n, int entries, unsigned seed) {
  std::mt19937 generator(seed);
  rows_of_pattern pattern(static_cast<std::size_t>(n));
  for (auto& row : pattern)
    for (int e = 0; e < entries; ++e) row.push_back(static_cast<int>(generator() % static_cast<unsigned>(n)));
  return pattern;
}
std::size_t count(const colours_found& found) { return found.offsets.size() - 1; }

}  // namespace

TEST_CASE("colours: by hand", "[linear][colouring][sanitizer]") {
  for (const way& w : ways()) {
    INFO(w.name);
    CHECK(colours_of({}, w.where) == colours_found{{}, {}, {0}});
    CHECK(colours_of({{}}, w.where) == colours_found{{0}, {0}, {0, 1}});
    CHECK(colours_of({{0}, {1}, {2}}, w.where) == colours_found{{0, 0, 0}, {0, 1, 2}, {0, 3}});
    // Which way an entry points does not matter, nor its order, nor that it is there twice.
    CHECK(colours_of({{}, {0}, {1}}, w.where) == colours_found{{0, 1, 0}, {0, 2, 1}, {0, 2, 3}});
    CHECK(colours_of({{1, 0, 1}, {2, 1}, {}}, w.where) == colours_found{{0, 1, 0}, {0, 2, 1}, {0, 2, 3}});
    CHECK(count(colours_of(dense(3), w.where)) == 3);
  }
}

TEST_CASE("colours: any two neighbours differ, and places agree", "[linear][colouring]") {
  const std::vector<std::pair<rows_of_pattern, std::size_t>> all{
      // and the most colours that they may take
      {grid(1, 1000, false), 2},       {grid(40, 50, false), 2},
      {grid(40, 50, true), 8},         {line_with_hub(3000, true), 3},
      {line_with_hub(3000, false), 3}, {by_chance(2000, 2, 1), 12},
      {by_chance(700, 20, 2), 41},     {dense(70), 70}};
  for (const auto& [pattern, most] : all) {
    const colours_found on_host = colours_of(pattern, whilst::place::host());
    INFO(pattern.size() << " rows, " << count(on_host) << " colours");
    CHECK(is_colouring(pattern, on_host));
    CHECK(count(on_host) <= most);
    for (const way& w : ways()) CHECK(colours_of(pattern, w.where) == on_host);
  }
}

TEST_CASE("colours: very long rows have colours of their own", "[linear][colouring]") {
  // Two that follow each other, and are not neighbours of every second of the other rows.
  rows_of_pattern pattern = grid(1, 6000, false);
  for (int i = 2; i < 6000; i += 2) pattern[0].push_back(i);
  pattern[0].push_back(5999);
  for (int i = 1; i < 5999; i += 2) pattern[5999].push_back(i);
  for (const way& w : ways()) {
    const colours_found found = colours_of(pattern, w.where);
    CHECK(count(found) == 4);
    CHECK(std::set<int>{found.colour[0], found.colour[5999]} == std::set<int>{2, 3});
    for (std::size_t i = 0; i < pattern.size(); ++i)
      for (const int j : pattern[i])
        if (static_cast<std::size_t>(j) != i) REQUIRE(found.colour[i] != found.colour[static_cast<std::size_t>(j)]);
  }
}

TEST_CASE("colours: a chain of very long rows takes no round for each", "[linear][colouring]") {
  // Rows are long by entries that are given many times; 4096 rounds are the limit.
  rows_of_pattern pattern(5000);
  for (std::size_t i = 1; i < pattern.size(); ++i) pattern[i].assign(2049, static_cast<int>(i - 1));
  for (const way& w : ways()) CHECK(count(colours_of(pattern, w.where)) <= 3);
}

TEST_CASE("colours: too many are refused", "[linear][colouring]") {
  for (const way& w : ways()) {
    CHECK(count(colours_of(dense(256), w.where)) == 256);
    CHECK_THROWS_WITH(colours_of(dense(257), w.where), contains("take more than 256 colours. Use another"));
  }
}

}  // namespace whilst_test
