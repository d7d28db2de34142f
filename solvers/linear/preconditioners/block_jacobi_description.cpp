#include "solvers/linear/block_jacobi/block_jacobi.hpp"
#include "solvers/linear/preconditioners/preconditioner_table.hpp"
#include "solvers/linear/schwarz/schwarz.hpp"

namespace whilst {
namespace {

std::vector<preconditioner_setting> settings_of_block_jacobi(linear_solver_options& options) {
  block_jacobi_options& blocks = options.block_jacobi;
  return {{"rows", &blocks.rows},
          {"blocks", &blocks.blocks},
          {"precision", &blocks.precision},
          {"offsets", &blocks.offsets}};
}

void check_block_jacobi(const refuse_setting& refuse, const linear_solver_options& options) {
  const block_jacobi_options& blocks = options.block_jacobi;
  if (blocks.rows < 0 || blocks.rows > block_jacobi::row_blocks::most_rows)
    refuse("rows is " + std::to_string(blocks.rows),
           "Use 1 to " + std::to_string(block_jacobi::row_blocks::most_rows) + ", or 0 for what suits the matrix");
  if (blocks.blocks != "natural" && blocks.blocks != "aggregated")
    refuse("blocks is '" + blocks.blocks + "'", "Use one of natural, aggregated");
  if (blocks.blocks == "aggregated" && !blocks.offsets.empty())
    refuse("blocks is 'aggregated', and offsets are given", "Give one of them");
  if (blocks.precision != "auto" && blocks.precision != "float" && blocks.precision != "double")
    refuse("precision is '" + blocks.precision + "'", "Use one of auto, float, double");
}

template <class T>
std::unique_ptr<matrix_preconditioner<T>> block_jacobi_for(const matrix_to_precondition<T>& matrix,
                                                           const method_needs& method,
                                                           const linear_solver_options& options) {
  const block_jacobi_options& blocks = options.block_jacobi;
  constexpr index_type usual_rows = 16;
  if (blocks.blocks == "aggregated")
    return make_schwarz<T>(
        matrix.on_place, method.symmetric,
        {.rows = blocks.rows > 0 ? blocks.rows : usual_rows, .overlap = 0, .precision = blocks.precision});
  return make_block_jacobi<T>(matrix.on_place, method.symmetric, options.block_jacobi);
}

}  // namespace

const preconditioner_description& block_jacobi_description() {
  static constexpr preconditioner_description block_jacobi{.name = "block_jacobi",
                                                           .prefix = "block_jacobi",
                                                           .contents = "the blocks of",
                                                           .differs_for_symmetric = true,
                                                           .hears_of_values = false,
                                                           .settings = settings_of_block_jacobi,
                                                           .check = check_block_jacobi,
                                                           .make_of_float = block_jacobi_for<float>,
                                                           .make_of_double = block_jacobi_for<double>};
  return block_jacobi;
}

}  // namespace whilst
