/// How fast Matrix Market files become matrices: reads files of the 5-point Poisson matrix, and one vector file, from
/// the page cache, and prints bytes of text per second, on one core, including the assembly of rows.
///
/// usage: reader [MEGABYTES] [DIRECTORY]: the size of each file, 100 by default, and where to put the temporary files.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "whilst/matrix_market.hpp"

namespace {

struct triplet {
  std::int64_t row, column;
  double value;
};

/// The matrix of the 5-point stencil on a square grid, row by row. With `scaled`, the rows are scaled so that values
/// have full-length digits, as measured ones do.
std::vector<triplet> poisson(std::int64_t side, bool scaled) {
  std::vector<triplet> entries;
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      const std::int64_t row = y * side + x;
      const double scale = scaled ? std::sqrt(static_cast<double>(row + 2)) : 1.0;
      if (y > 0) entries.push_back({row, row - side, -scale});
      if (x > 0) entries.push_back({row, row - 1, -scale});
      entries.push_back({row, row, 4 * scale});
      if (x + 1 < side) entries.push_back({row, row + 1, -scale});
      if (y + 1 < side) entries.push_back({row, row + side, -scale});
    }
  }
  return entries;
}

template <class Number>
void append(std::string& text, Number number, char after) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr) += after;
}

void write(const std::filesystem::path& path, const std::string& kind, std::int64_t n,
           const std::vector<triplet>& entries) {
  std::string text = "%%MatrixMarket matrix coordinate real " + kind + "\n";
  append(text, n, ' ');
  append(text, n, ' ');
  append(text, entries.size(), '\n');
  for (const triplet& e : entries) {
    append(text, e.row + 1, ' ');
    append(text, e.column + 1, ' ');
    append(text, e.value, '\n');
  }
  std::ofstream(path, std::ios::binary) << text;
}

template <class Read>
void measure(const std::string& what, const std::filesystem::path& path, Read read) {
  constexpr int repetitions = 5;
  double best = std::numeric_limits<double>::infinity();
  std::int64_t count = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    count = read();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double megabytes = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
  std::printf("%-44s %7.1f MB %10lld numbers %7.3f s %7.0f MB/s %6.1f ns a number\n", what.c_str(), megabytes,
              static_cast<long long>(count), best, megabytes / best, best / static_cast<double>(count) * 1e9);
}

void run(double megabytes, const std::filesystem::path& directory) {
  // A line has about 18 bytes, a row about five lines.
  const auto side = static_cast<std::int64_t>(std::sqrt(megabytes * 1e6 / 18 / 5)) + 2;
  const std::int64_t n = side * side;
  const std::filesystem::path path = directory / ("whilst-benchmark-reader-" + std::to_string(std::random_device{}()));
  const auto measure_matrix = [&](const std::string& what) {
    measure(what, path, [&] { return whilst::read_matrix<double>(path).nonzeros(); });
  };

  std::vector<triplet> entries = poisson(side, false);
  write(path, "general", n, entries);
  measure_matrix("5-point Poisson, general, by row");
  entries = poisson(side, true);
  write(path, "general", n, entries);
  measure_matrix("the same, values with all digits");
  std::stable_sort(entries.begin(), entries.end(),
                   [](const triplet& a, const triplet& b) { return a.column < b.column; });
  write(path, "general", n, entries);
  measure_matrix("the same, by column");
  std::erase_if(entries, [](const triplet& e) { return e.row < e.column; });
  write(path, "symmetric", n, entries);
  measure_matrix("the lower triangle, symmetric, by column");
  entries = poisson(side, true);
  std::shuffle(entries.begin(), entries.end(), std::mt19937_64(1));
  write(path, "general", n, entries);
  measure_matrix("all digits, general, in random order");

  std::vector<double> vector(static_cast<std::size_t>(n));
  std::generate(vector.begin(), vector.end(),
                [generator = std::mt19937_64(2)]() mutable { return std::normal_distribution<double>()(generator); });
  whilst::write_vector(path, vector);
  measure("vector with all digits", path,
          [&] { return static_cast<std::int64_t>(whilst::read_vector<double>(path).size()); });
  std::filesystem::remove(path);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::stod(argv[1]) : 100.0,
        argc > 2 ? std::filesystem::path(argv[2]) : std::filesystem::temp_directory_path());
  } catch (const std::exception& problem) {
    std::cerr << "reader: " << problem.what() << "\n";
    return EXIT_FAILURE;
  }
}
