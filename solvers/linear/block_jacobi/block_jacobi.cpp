// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/block_jacobi/block_jacobi.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "solvers/linear/block_jacobi/natural_blocks.hpp"

namespace whilst {
namespace {

using block_jacobi::invert_blocks, block_jacobi::multiply_by_blocks, block_jacobi::row_blocks;

constexpr std::string_view making_block_jacobi = "making preconditioner block_jacobi";

/// Given blocks in memory of a place, or none.
struct given_blocks {
  int most = 0;
  buffer<std::int32_t> offsets, of;

  given_blocks() = default;
  given_blocks(place where, index_type rows, const std::vector<index_type>& given) {
    if (given.empty()) return;
    const auto refuse = [](const std::string& what) {
      throw error(making_block_jacobi, what,
                  "Give offsets that begin with 0, end with the number of rows, and have 1 to " +
                      std::to_string(row_blocks::most_rows) + " rows between two of them");
    };
    if (given.front() != 0 || given.back() != rows)
      refuse("the blocks' offsets go from " + std::to_string(given.front()) + " to " + std::to_string(given.back()) +
             ", and the matrix has " + std::to_string(rows) + " rows");
    std::vector<std::int32_t> block_of_row;
    for (std::size_t k = 0; k + 1 < given.size(); ++k) {
      const index_type size = given[k + 1] - given[k];
      if (size < 1 || size > row_blocks::most_rows)
        refuse("block " + std::to_string(k) + " has " + std::to_string(size) + " rows");
      most = std::max(most, static_cast<int>(size));
      block_of_row.insert(block_of_row.end(), static_cast<std::size_t>(size), static_cast<std::int32_t>(k));
    }
    const std::vector<std::int32_t> narrow(given.begin(), given.end());
    offsets = buffer<std::int32_t>(where, static_cast<index_type>(narrow.size()), narrow.data());
    of = buffer<std::int32_t>(where, rows, block_of_row.data());
  }
};

template <class T, class C>
class block_jacobi_of final : public matrix_preconditioner<T> {
 public:
  block_jacobi_of(const solve_request<T>& matrix, bool symmetric, const block_jacobi_options& options)
      : matrix_(matrix), symmetric_(symmetric), given_(matrix.where, matrix.rows, options.offsets) {
    int natural = 1;
    blocks_.rows = static_cast<std::int32_t>(matrix.rows);
    if (given_.most > 0) {
      blocks_.most = given_.most;
      blocks_.count = static_cast<std::int32_t>(options.offsets.size()) - 1;
      blocks_.offsets = given_.offsets.data();
      blocks_.of = given_.of.data();
    } else {
      if (options.rows > 0) {
        blocks_.most = static_cast<int>(options.rows);
      } else {
        natural = matrix.offsets_64 ? block_jacobi::natural_block<std::int64_t>(matrix)
                                    : block_jacobi::natural_block<std::int32_t>(matrix);
        blocks_.most = natural > 1 ? natural : usual_rows;
      }
      if (matrix.rows < blocks_.most) blocks_.most = matrix.rows > 0 ? static_cast<int>(matrix.rows) : 1;
      blocks_.count = static_cast<std::int32_t>((matrix.rows + blocks_.most - 1) / blocks_.most);
    }
    inverses_ = buffer<C>(matrix.where, blocks_.size());
    description_ = std::to_string(blocks_.count) + (blocks_.count == 1 ? " block of " : " blocks of ") +
                   (given_.most > 0 ? "up to " : "") + std::to_string(blocks_.most) + " rows";
  }

  void read_values_from(constant_slot<const T> values) override { values_ = values; }
  bool made_from_operator() const override { return true; }
  void prepare_by_itself(recorder& run, const double* factor) const override {
    if (matrix_.offsets_64) {
      record_inverses<std::int64_t>(run, factor);
    } else {
      record_inverses<std::int32_t>(run, factor);
    }
  }
  void apply(recorder& run, const T* r, T* z) const override {
    run.step("z = M r by blocks", matrix_.rows, multiply_by_blocks<T, C>{blocks_, inverses_.data(), r, z});
  }

  index_type bytes() const override { return inverses_.bytes() + given_.offsets.bytes() + given_.of.bytes(); }
  std::string description() const override { return description_; }

 private:
  static constexpr int usual_rows = 16;

  template <class Offset>
  void record_inverses(recorder& run, const double* factor) const {
    using inversion = invert_blocks<T, C, Offset>;
    const double lost = 4 * blocks_.most * static_cast<double>(std::numeric_limits<T>::epsilon());
    run.team("invert the blocks", inversion::teams(blocks_, run.where().on_host()),
             inversion{blocks_, symmetric_, lost, static_cast<const Offset*>(matrix_.row_offsets),
                       matrix_.column_indices, values_, factor, inverses_.data()});
  }

  solve_request<T> matrix_;
  bool symmetric_;
  given_blocks given_;
  row_blocks blocks_;
  buffer<C> inverses_;
  std::string description_;
  constant_slot<const T> values_;
};

}  // namespace

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_block_jacobi(const solve_request<T>& matrix, bool symmetric,
                                                            const block_jacobi_options& options) {
  if constexpr (std::is_same_v<T, double>)
    if (options.precision == "double") return std::make_unique<block_jacobi_of<T, double>>(matrix, symmetric, options);
  return std::make_unique<block_jacobi_of<T, float>>(matrix, symmetric, options);
}
template std::unique_ptr<matrix_preconditioner<WHILST_NUMBER>> make_block_jacobi(const solve_request<WHILST_NUMBER>&,
                                                                                 bool, const block_jacobi_options&);

}  // namespace whilst
