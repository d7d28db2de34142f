#pragma once

// Matrices that are hard on a format, with small whole numbers as values: sums of them have no rounding, so that every
// order of additions gives the same bits, in float, too.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/linear/systems.hpp"

namespace whilst_test {

/// The columns of each row; the values come from a generator.
struct pattern {
  std::string name;
  whilst::index_type columns;
  std::vector<std::vector<std::int32_t>> rows;
};

inline std::vector<std::int32_t> consecutive(std::int32_t first, std::int32_t count) {
  std::vector<std::int32_t> columns;
  for (std::int32_t k = 0; k < count; ++k) columns.push_back(first + k);
  return columns;
}

/// Row lengths with a heavy tail: row k has about n / (k + 1) entries, in a random order of rows and columns.
inline pattern power_law(int n) {
  std::mt19937 generator(3);
  pattern made{"power law", n, {}};
  for (int k = 0; k < n; ++k) {
    std::vector<std::int32_t> row;
    for (int j = 0; j < std::max(1, n / (k + 1)); ++j)
      row.push_back(static_cast<std::int32_t>(generator() % static_cast<unsigned>(n)));
    made.rows.push_back(row);
  }
  std::shuffle(made.rows.begin(), made.rows.end(), generator);
  return made;
}

inline std::vector<pattern> hard_patterns() {
  std::vector<pattern> all;
  all.push_back({"no rows", 0, {}});
  all.push_back({"one entry", 1, {{0}}});
  all.push_back({"no entries", 7, {{}, {}, {}, {}, {}, {}, {}}});
  pattern diagonal{"diagonal", 100, {}}, band{"band", 100, {}}, full{"rows of 32", 64, {}}, odd{"rows of 31", 64, {}};
  for (int i = 0; i < 100; ++i) diagonal.rows.push_back({i});
  for (int i = 0; i < 100; ++i) {
    std::vector<std::int32_t> row;
    for (int j = std::max(0, i - 2); j < std::min(100, i + 3); ++j) row.push_back(j);
    band.rows.push_back(row);
  }
  for (int i = 0; i < 64; ++i) full.rows.push_back(consecutive(i % 32, 32));
  for (int i = 0; i < 64; ++i) odd.rows.push_back(consecutive(i % 32, 31));
  for (pattern* one : {&diagonal, &band, &full, &odd}) all.push_back(std::move(*one));
  pattern gaps{"empty rows", 50, {}};
  for (int i = 0; i < 75; ++i)
    gaps.rows.push_back(i < 3 || i % 5 == 2 || i > 70 ? std::vector<std::int32_t>() : consecutive(i % 40, 1 + i % 9));
  all.push_back(gaps);
  all.push_back({"repeated and unsorted", 4, {{3, 0, 3, 3}, {2, 1, 0}, {1, 1}, {3, 2, 1, 0, 3, 2, 1, 0}}});
  pattern arrow{"arrow", 3000, {consecutive(0, 3000)}};
  for (int i = 1; i < 3000; ++i) arrow.rows.push_back({0, i});
  all.push_back(arrow);
  // From the middle of a tile over many to the middle of another, and a second one right behind.
  pattern hubs{"rows of 20 000", 20000, {{5, 7, 9}, consecutive(0, 20000), consecutive(0, 20000), {}, {1}}};
  all.push_back(hubs);
  // A tile of balanced has 1024 entries.
  pattern aligned{"rows of whole tiles", 9000, {consecutive(0, 1024), consecutive(0, 8192), consecutive(3, 32), {}}};
  aligned.rows.push_back(consecutive(0, 992 + 1024));
  aligned.rows.push_back(consecutive(5, 1024));
  all.push_back(aligned);
  pattern around{"rows around a tile", 3000, {}};
  for (const int length : {1, 1023, 1, 1024, 1, 1025, 2, 2047, 2048, 2049, 500, 525, 0, 1500, 3, 3000, 0})
    around.rows.push_back(consecutive(0, length));
  all.push_back(around);
  all.push_back(power_law(2000));
  pattern wide{"wide", 1000, {}}, tall{"tall", 40, {}};
  for (int i = 0; i < 40; ++i) wide.rows.push_back(consecutive(i * 20, 1 + i % 7));
  for (int i = 0; i < 1000; ++i) tall.rows.push_back(consecutive(i % 30, 1 + i % 7));
  all.push_back(wide);
  all.push_back(tall);
  return all;
}

/// Every entry as a block; of 100 entries some `missing` are left out, and as many rows and columns at the end as
/// `clipped` says.
inline pattern in_blocks(const pattern& of, int block, int missing, int clipped) {
  std::mt19937 generator(7);
  pattern made{of.name + " in blocks of " + std::to_string(block), of.columns * block, {}};
  for (const auto& row : of.rows)
    for (int r = 0; r < block; ++r) {
      std::vector<std::int32_t> columns;
      for (const std::int32_t j : row)
        for (int c = 0; c < block; ++c)
          if (static_cast<int>(generator() % 100) >= missing) columns.push_back(j * block + c);
      made.rows.push_back(columns);
    }
  if (clipped > 0 && made.columns > clipped && made.rows.size() > static_cast<std::size_t>(clipped)) {
    made.columns -= clipped;
    made.rows.resize(made.rows.size() - static_cast<std::size_t>(clipped));
    for (auto& row : made.rows) std::erase_if(row, [&](std::int32_t j) { return j >= made.columns; });
  }
  return made;
}

/// Whole numbers from -8 to 8.
template <class T>
std::vector<T> whole_numbers(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(static_cast<int>(generator() % 17) - 8);
  return values;
}

/// Offset: std::int32_t or std::int64_t.
template <class T, class Offset = std::int32_t>
whilst::csr_matrix<T> matrix_of(const pattern& of) {
  std::vector<Offset> offsets{0};
  std::vector<std::int32_t> columns;
  for (const auto& row : of.rows) {
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<Offset>(columns.size()));
  }
  std::vector<T> values = whole_numbers<T>(columns.size(), 1);
  return whilst::csr_matrix<T>::adopt(static_cast<whilst::index_type>(of.rows.size()), of.columns, std::move(offsets),
                                      std::move(columns), std::move(values));
}

}  // namespace whilst_test
