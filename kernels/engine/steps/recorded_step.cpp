#include <bit>
#include <limits>
#include <string>

#include "whilst/basics/error.hpp"
#include "whilst/engine/steps/step.hpp"

namespace whilst {

recorded_step::recorded_step(const char* name, const step_facts& facts) : name_(name), facts_(facts) {}
recorded_step::~recorded_step() = default;

void recorded_step::set_count(index_type n, int lanes, index_type chunk) {
  const std::string doing = "recording step '" + name_ + "'";
  if (n < 0) throw error(doing, "its count is " + std::to_string(n), "Give 0 or more");
  detail::check_lanes(doing, lanes);
  const std::size_t with_sums = n > 0 ? static_cast<std::size_t>((n - 1) / chunk + 1) : 1;
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (facts_.bytes_of_sums > 0 && with_sums > most / facts_.bytes_of_sums)
    throw error(doing, "its count is " + std::to_string(n) + ", and its sums would be beyond any memory",
                "Give a smaller one");
  sums_.resize(with_sums * facts_.bytes_of_sums);
  n_ = n;
}

void recorded_step::run_chunks(index_type chunk, int threads, index_type least_a_thread) {
  run_on_threads(chunks(chunk), threads, least_a_thread, [this](index_type k) { run_chunk(k); });
}

namespace detail {

void check_lanes(const std::string& doing, int lanes) {
  if (lanes >= 1 && lanes <= 32 && std::has_single_bit(static_cast<unsigned>(lanes))) return;
  throw error(doing, "lanes_wanted() is " + std::to_string(lanes), "Have it return 1, 2, 4, 8, 16 or 32");
}

}  // namespace detail
}  // namespace whilst
