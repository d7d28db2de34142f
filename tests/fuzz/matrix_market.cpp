/// libFuzzer target for the Matrix Market readers: any bytes are read, or refused with whilst::error, and a matrix that
/// was read keeps its promises.
///
/// cmake -S . -B build-fuzz -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DWHILST_CUDA=OFF -DWHILST_FUZZ=ON
/// cmake --build build-fuzz --target fuzz_matrix_market
/// mkdir -p NEW_INPUTS
/// build-fuzz/bin/fuzz_matrix_market -max_len=4096 -max_total_time=60 NEW_INPUTS tests/fuzz/corpus
///
/// What it finds goes into tests/fuzz/corpus, which the reader's tests replay.

#include "whilst/matrix_market.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

template <class T>
void check_matrix(std::string_view text) {
  const auto matrix = whilst::parse_matrix<T>(text, "fuzz");
  require(matrix.row_offset(0) == 0 && matrix.row_offset(matrix.rows()) == matrix.nonzeros());
  for (whilst::index_type row = 0; row < matrix.rows(); ++row) {
    for (whilst::index_type k = matrix.row_offset(row); k < matrix.row_offset(row + 1); ++k) {
      const auto column = matrix.column_indices()[static_cast<std::size_t>(k)];
      require(column >= 0 && column < matrix.columns());
      require(k == matrix.row_offset(row) || matrix.column_indices()[static_cast<std::size_t>(k - 1)] < column);
      require(std::isfinite(matrix.values()[static_cast<std::size_t>(k)]));
    }
  }
}

template <class Work>
void refuse_or(Work work) {
  try {
    work();
  } catch (const whilst::error& problem) {
    // FILE:LINE:COLUMN comes first, or else the file: there is too little memory for it.
    const std::string_view message = problem.what();
    require(message.starts_with("fuzz:") || message.starts_with("reading fuzz: "));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Many rows that are empty are legal, only slow; they would hide what is worth finding.
  constexpr whilst::index_type most_rows = 100'000;
  refuse_or([&] {
    if (whilst::parse_matrix_market_header(text, "fuzz").rows > most_rows) return;
    refuse_or([&] { check_matrix<double>(text); });
    refuse_or([&] { check_matrix<float>(text); });
    refuse_or([&] { whilst::parse_vector<double>(text, "fuzz"); });
  });
  return 0;
}
