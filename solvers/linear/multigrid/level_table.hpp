#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include "solvers/linear/multigrid/hierarchy.hpp"

namespace whilst::multigrid {

/// Rows and nonzeros of all levels over those of the finest.
template <class C>
struct complexities {
  double of_grids = 1, of_operators = 1;

  explicit complexities(const hierarchy<C>& of) {
    double rows = 0, nonzeros = 0;
    for (const level<C>& one : of.levels()) {
      rows += static_cast<double>(one.unknowns());
      nonzeros += static_cast<double>(one.nodes_of_A().nonzeros());
    }
    const level<C>& finest = of.levels().front();
    if (finest.unknowns() > 0) of_grids = rows / static_cast<double>(finest.unknowns());
    if (const index_type of_finest = finest.nodes_of_A().nonzeros(); of_finest > 0)
      of_operators = nonzeros / static_cast<double>(of_finest);
  }
};

/// Bytes of the matrices that one visit of a level reads.
template <class C>
index_type bytes_of_visit(const hierarchy<C>& of, const level<C>& here) {
  if (of.has_inverse() && &here == &of.levels().back())
    return here.unknowns() * here.unknowns() * static_cast<index_type>(sizeof(C));
  const auto bytes = [](const interleaved_rows<C>& A) {
    const std::size_t value = A.upper_halves ? sizeof(std::uint16_t) : sizeof(C);
    return A.pattern.nonzeros * static_cast<index_type>(sizeof(std::int32_t) + value);
  };
  return bytes(here.up) + bytes(here.down);
}

/// A table of levels, a line each, with bars as long as their nonzeros.
template <class C>
std::string level_table(const hierarchy<C>& of) {
  constexpr index_type longest_bar = 32;
  std::string text = "  level       rows    nonzeros   a row  smoother               read, KiB\n";
  const index_type most = std::max<index_type>(of.levels().front().nodes_of_A().nonzeros(), 1);
  index_type number = 0;
  for (const level<C>& one : of.levels()) {
    const index_type rows = one.unknowns(), nonzeros = one.nodes_of_A().nonzeros();
    const bool is_inverted = of.has_inverse() && &one == &of.levels().back();
    const std::size_t visited = of.plan().revisited;
    const bool is_twice = visited > 0 && &one == &of.levels()[visited];
    const std::string words = of.plan().smoother_words() + (is_twice ? ", twice" : "");
    char line[128];
    std::snprintf(line, sizeof line, "%7lld %10lld %11lld %7.1f  %-18s %13.1f  ", static_cast<long long>(number++),
                  static_cast<long long>(rows), static_cast<long long>(nonzeros),
                  rows > 0 ? static_cast<double>(nonzeros) / static_cast<double>(rows) : 0.0,
                  is_inverted ? "inverse" : words.c_str(), static_cast<double>(bytes_of_visit(of, one)) / 1024);
    const index_type bar = std::min(longest_bar, (nonzeros * longest_bar + most - 1) / most);
    text += line + std::string(static_cast<std::size_t>(bar), '#') + "\n";
  }
  return text;
}

}  // namespace whilst::multigrid
