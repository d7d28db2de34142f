// Subdomains that are grown from the graph of a matrix.
#include "solvers/linear/schwarz/subdomains.hpp"

#include <algorithm>
#include <random>
#include <set>

#include "tests/catch.hpp"

namespace whilst_test {
namespace {

using whilst::schwarz::grow_subdomains;
using whilst::schwarz::growth;
using whilst::schwarz::matrix_graph;
using whilst::schwarz::subdomains;

using row_numbers = std::vector<std::int32_t>;

matrix_graph graph_of(const std::vector<std::vector<std::pair<int, float>>>& rows) {
  matrix_graph graph{{0}, {}, {}};
  for (const auto& row : rows) {
    for (const auto& [column, weight] : row) {
      graph.columns.push_back(column);
      graph.weights.push_back(weight);
    }
    graph.offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  return graph;
}
/// A grid of width x height whose edges across have one weight and those up and down another, its points numbered in a
/// random order, and that numbering.
std::pair<matrix_graph, row_numbers> shuffled_grid(int width, int height, float across, float down) {
  row_numbers number(static_cast<std::size_t>(width * height));
  for (std::size_t k = 0; k < number.size(); ++k) number[k] = static_cast<std::int32_t>(k);
  std::mt19937 generator(11);
  std::shuffle(number.begin(), number.end(), generator);
  std::vector<std::vector<std::pair<int, float>>> rows(number.size());
  const auto at = [&](int x, int y) { return number[static_cast<std::size_t>(y * width + x)]; };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      auto& row = rows[static_cast<std::size_t>(at(x, y))];
      row.emplace_back(at(x, y), 0.0F);
      if (x > 0) row.emplace_back(at(x - 1, y), across);
      if (x + 1 < width) row.emplace_back(at(x + 1, y), across);
      if (y > 0) row.emplace_back(at(x, y - 1), down);
      if (y + 1 < height) row.emplace_back(at(x, y + 1), down);
    }
  return {graph_of(rows), number};
}
row_numbers part(const subdomains& of, std::size_t s, bool own) {
  const auto begin = of.rows.begin() + of.offsets[s];
  return own ? row_numbers(begin, begin + of.own[s])
             : row_numbers(begin + of.own[s], of.rows.begin() + of.offsets[s + 1]);
}
/// What is at most `layers` edges away from the rows, without these.
row_numbers around(const matrix_graph& graph, const row_numbers& rows, int layers) {
  std::set<std::int32_t> found(rows.begin(), rows.end());
  for (int layer = 0; layer < layers; ++layer)
    for (const std::int32_t i : std::set<std::int32_t>(found))
      for (auto e = graph.offsets[static_cast<std::size_t>(i)]; e < graph.offsets[static_cast<std::size_t>(i) + 1]; ++e)
        found.insert(graph.columns[static_cast<std::size_t>(e)]);
  for (const std::int32_t i : rows) found.erase(i);
  return {found.begin(), found.end()};
}
/// Each row is own once, sets are as large as asked for, and their parts ascend.
void check_sets(const subdomains& found, const matrix_graph& graph, const growth& asked) {
  std::vector<int> times(static_cast<std::size_t>(graph.rows()), 0);
  for (std::size_t s = 0; s < found.count(); ++s) {
    const row_numbers own = part(found, s, true), others = part(found, s, false);
    CHECK(!own.empty());
    CHECK(static_cast<int>(own.size()) <= asked.rows);
    CHECK(static_cast<int>(own.size() + others.size()) <= asked.most);
    CHECK(std::is_sorted(own.begin(), own.end()));
    CHECK(std::is_sorted(others.begin(), others.end()));
    for (const std::int32_t i : own) ++times[static_cast<std::size_t>(i)];
  }
  CHECK(std::all_of(times.begin(), times.end(), [](int k) { return k == 1; }));
}

}  // namespace

TEST_CASE("subdomains of a path", "[linear][schwarz]") {
  std::vector<std::vector<std::pair<int, float>>> rows(7);
  for (int i = 0; i < 7; ++i)
    for (const int j : {i - 1, i + 1})
      if (j >= 0 && j < 7) rows[static_cast<std::size_t>(i)].emplace_back(j, 1.0F);
  const subdomains found = grow_subdomains(graph_of(rows), {.rows = 2, .overlap = 1, .most = 128});
  CHECK(found.rows == row_numbers{0, 1, 2, 2, 3, 1, 4, 4, 5, 3, 6, 6, 5});
  CHECK(found.own == std::vector<int>{2, 2, 2, 1});
  CHECK(found.offsets == std::vector<std::int64_t>{0, 3, 7, 11, 13});
  CHECK(grow_subdomains(graph_of({}), {.rows = 2, .most = 4}).count() == 0);
}

TEST_CASE("subdomains: layers are what is so many edges away", "[linear][schwarz]") {
  const auto [graph, number] = shuffled_grid(23, 17, 1, 1);
  for (int overlap = 0; overlap <= 3; ++overlap)
    for (const int rows : {1, 5, 16}) {
      const growth asked{.rows = rows, .overlap = overlap, .most = 1000};
      const subdomains found = grow_subdomains(graph, asked);
      check_sets(found, graph, asked);
      for (std::size_t s = 0; s < found.count(); ++s)
        CHECK(part(found, s, false) == around(graph, part(found, s, true), overlap));
    }
}

TEST_CASE("subdomains: the limit keeps what is joined most", "[linear][schwarz]") {
  // Row 0 has neighbours 1 to 9, with weights that grow.
  std::vector<std::vector<std::pair<int, float>>> rows(10);
  for (int j = 1; j < 10; ++j) rows[0].emplace_back(j, 0.1F * static_cast<float>(j));
  const growth asked{.rows = 1, .overlap = 2, .most = 4};
  const subdomains found = grow_subdomains(graph_of(rows), asked);
  check_sets(found, graph_of(rows), asked);
  CHECK(part(found, 0, true) == row_numbers{0});
  CHECK(part(found, 0, false) == row_numbers{7, 8, 9});
  const auto [grid, number] = shuffled_grid(20, 20, 1, 0.5);
  for (const int most : {8, 9, 13}) {
    const growth small{.rows = 8, .overlap = 4, .most = most};
    check_sets(grow_subdomains(grid, small), grid, small);
  }
  // Layers follow no weak edge, so each is a piece of a line.
  const auto [lines, of_line] = shuffled_grid(12, 5, 1, 0.01F);
  const subdomains along = grow_subdomains(lines, {.rows = 4, .overlap = 1, .most = 100});
  CHECK(along.count() == 15);
  CHECK(along.rows.size() == 5 * (5 + 6 + 5));
}

TEST_CASE("subdomains run along strong entries, and are round where all are alike", "[linear][schwarz]") {
  {
    const auto [graph, number] = shuffled_grid(16, 30, 1, 0.001F);
    const subdomains found = grow_subdomains(graph, {.rows = 16, .most = 16});
    CHECK(found.count() == 30);
    std::vector<int> line(number.size());
    for (std::size_t k = 0; k < number.size(); ++k)
      line[static_cast<std::size_t>(number[k])] = static_cast<int>(k / 16);
    for (std::size_t s = 0; s < found.count(); ++s)
      for (const std::int32_t i : part(found, s, true))
        CHECK(line[static_cast<std::size_t>(i)] == line[static_cast<std::size_t>(part(found, s, true)[0])]);
  }
  // Of 64 points a square has 32 neighbours, and a line 130.
  const auto [graph, number] = shuffled_grid(64, 64, 1, 1);
  const subdomains found = grow_subdomains(graph, {.rows = 64, .overlap = 1, .most = 1000});
  CHECK(static_cast<double>(found.rows.size()) <= 1.7 * 64 * 64);
  CHECK(found.count() <= 110);  // few are remnants
}

TEST_CASE("subdomains: the unknowns of a node stay together", "[linear][schwarz]") {
  // A path of nodes with 3 unknowns each, of which the first alone are joined.
  std::vector<std::vector<std::pair<int, float>>> rows(30);
  for (int v = 0; v < 10; ++v)
    for (const int other : {v - 1, v + 1})
      if (other >= 0 && other < 10) rows[static_cast<std::size_t>(3 * v)].emplace_back(3 * other, 1.0F);
  const growth asked{.rows = 8, .overlap = 1, .most = 16, .unknowns_a_node = 3};
  const subdomains found = grow_subdomains(graph_of(rows), asked);
  check_sets(found, graph_of(rows), asked);
  CHECK(found.count() == 5);
  CHECK(part(found, 1, true) == row_numbers{6, 7, 8, 9, 10, 11});
  CHECK(part(found, 1, false) == row_numbers{3, 4, 5, 12, 13, 14});
}

TEST_CASE("subdomains of hostile graphs", "[linear][schwarz]") {
  constexpr int n = 1500;
  std::vector<std::vector<std::pair<int, float>>> rows(n);
  for (int j = 0; j < n; ++j) rows[0].emplace_back(j, 1.0F);  // dense: it joins nothing
  for (int i = 1; i < 1000; ++i)
    rows[static_cast<std::size_t>(i)] = {{0, 1.0F}, {i, 0.0F}};  // an arrow; the rest empty
  const matrix_graph graph = graph_of(rows);
  const growth asked{.rows = 8, .overlap = 4, .most = 20};
  const subdomains found = grow_subdomains(graph, asked);
  check_sets(found, graph, asked);
  CHECK(part(found, 0, true) == row_numbers{0});
  CHECK(part(found, 0, false).empty());
  CHECK(found.count() == n);
  CHECK(part(found, 500, false) == row_numbers{0});
  CHECK(part(found, 1499, false).empty());
}

}  // namespace whilst_test
