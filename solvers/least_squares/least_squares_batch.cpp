#include "whilst/least_squares/least_squares_batch.hpp"

#include "whilst/basics/error.hpp"

namespace whilst {

int lanes_for_fits(index_type residuals, index_type fits) {
  // One thread per fit leaves a GPU idle if fits are few, and a block's barriers need enough residuals per thread to
  // pay off.
  constexpr index_type most_for_a_thread = 64, fits_for_threads = 4096, most_for_a_warp = 2048;
  if (residuals <= most_for_a_thread && fits >= fits_for_threads) return 1;
  return residuals <= most_for_a_warp ? 32 : 256;
}

namespace detail {
namespace {

const std::string making = "making a batch of fits";

}  // namespace

batch_settings settings_of_fits(const least_squares_batch_options& options, index_type fits) {
  check_tolerances(making, options.tolerances);
  return {making, "a least_squares_solver", fits, options};
}

void check_residuals(index_type residuals) {
  if (residuals < 1) throw error(making, "there are no residuals", "Give data to fit");
}

}  // namespace detail
}  // namespace whilst
