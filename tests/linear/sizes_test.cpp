// Sizes, lanes and overlaps that cannot be meant are refused by name, before anything is written.
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/host/batches.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/batch_linear_solver.hpp"
#include "whilst/recorder.hpp"
#include "whilst/template_door.hpp"

namespace whilst_test {

using whilst::index_type;
using whilst::place;

namespace {

struct lanes_of_a_sum {
  int lanes;
  int lanes_wanted() const { return lanes; }
  template <class Team>
  void operator()(index_type, const Team&) const {}
};
struct identity_by_lanes {
  index_type n;
  int lanes;
  index_type rows() const { return n; }
  int lanes_wanted() const { return lanes; }
  template <class T, class Team>
  T row(index_type i, const T* x, const Team&) const {
    return x[i];
  }
};
struct sum_a_problem {
  static constexpr bool whole_problem = true;
  whilst::sums<double, 1> operator()(index_type) const { return {}; }
};
struct ignores_sums {
  void operator()(const whilst::sums<double, 1>&) const {}
};
struct nothing_done {
  void operator()(index_type) const {}
};

constexpr index_type most = std::numeric_limits<index_type>::max();

}  // namespace

TEST_CASE("memory whose bytes are no number is refused", "[sizes]") {
  for (const index_type count : {index_type{1} << 60, (index_type{1} << 61) + 1, most}) {
    INFO(count);
    CHECK_THROWS_AS(whilst::buffer<double>(place::host(), count), whilst::out_of_memory);
    whilst::workspace measuring;
    static_cast<void>(measuring.take<double>(5));
    CHECK_THROWS_AS(measuring.take<double>(count), whilst::out_of_memory);
    CHECK(measuring.used() == 40);
  }
  for (const index_type count : {index_type{-1}, std::numeric_limits<index_type>::min()}) {
    CHECK_THROWS_WITH(whilst::buffer<double>(place::host(), count), contains("their number is negative"));
    CHECK_THROWS_WITH(whilst::workspace().take<double>(count), contains("their number is negative"));
  }
}

TEST_CASE("lanes and counts that no step can have are refused", "[sizes]") {
  for (const int lanes : {-1, 0, 3, 33, 64}) {
    INFO(lanes);
    whilst::program_recorder record(place::host());
    CHECK_THROWS_WITH(record.step("s", 10, lanes_of_a_sum{lanes}),
                      contains("recording step 's': lanes_wanted() is") && contains("1, 2, 4, 8, 16 or 32"));
    const identity_by_lanes A{10, lanes};
    const auto make = [&] {
      return whilst::make_operator_solver<whilst::bicgstab, double>(A, {}, {.executor = "host"});
    };
    CHECK_THROWS_WITH(make(), contains("lanes_wanted() is"));
    const auto handle = record.step("t", 10, lanes_of_a_sum{8});
    whilst::program recorded = std::move(record).finish();
    CHECK_THROWS_WITH(recorded.update(handle, lanes_of_a_sum{lanes}), contains("lanes_wanted() is"));
  }
  for (const index_type n : {index_type{-1}, std::numeric_limits<index_type>::min()}) {
    whilst::program_recorder record(place::host());
    CHECK_THROWS_WITH(record.step("s", n, nothing_done{}), contains("its count is -"));
  }
  whilst::program_recorder record(place::host());
  record.step("s", most, nothing_done{});
  // Sums of chunks whose bytes no number holds: 8 bytes a problem, 2^61 problems.
  CHECK_THROWS_WITH(record.step("s", index_type{1} << 61, sum_a_problem{}, ignores_sums{}),
                    contains("recording step 's': its count is 2305843009213693952") && contains("beyond any memory"));
  CHECK_NOTHROW(std::move(record).finish().prepare({}));
}

namespace {

/// Four systems of five rows, and memory of an executor's place for their values and for b and x side by side.
struct overlapping {
  static constexpr std::size_t rows = 5, systems = 4, entries = rows * systems;
  whilst::csr_matrix<double> A = convection_diffusion<double>(rows);
  std::vector<double> values;
  whilst::batch_linear_solver<double> solver;
  whilst::buffer<double> values_there, both_there;

  explicit overlapping(const std::string& executor)
      : solver(A, systems, {.method = "bicgstab", .executor = executor}),
        values_there(place_of(executor), systems * A.nonzeros()),
        both_there(place_of(executor), 2 * entries) {
    for (std::size_t k = 0; k < systems; ++k) values.insert(values.end(), A.values().begin(), A.values().end());
    fill();
  }
  static place place_of(const std::string& executor) { return executor == "host" ? place::host() : place::gpu(0); }
  void fill() {
    values_there.upload(values.data());
    both_there.upload(ones(2 * entries).data());
  }
  static std::vector<double> ones(std::size_t count) { return std::vector<double>(count, 1); }
  static std::vector<double> copied(const whilst::buffer<double>& from) {
    std::vector<double> host(static_cast<std::size_t>(from.size()));
    from.download(host.data());
    return host;
  }
};

}  // namespace

TEST_CASE("a batch whose x overlaps b or the values is refused", "[sizes][batch]") {
  for (const std::string& executor : batch_executors()) {
    INFO(executor);
    overlapping given(executor);
    constexpr std::size_t rows = overlapping::rows, entries = overlapping::entries;
    std::vector<double> values = given.values, both = overlapping::ones(2 * entries);
    double* const there = given.both_there.data();
    for (const std::size_t shift : {std::size_t{1}, rows, entries - 1}) {
      CHECK_THROWS_WITH(given.solver.solve(values, std::span<const double>(both.data(), entries),
                                           std::span<double>(both.data() + shift, entries)),
                        contains("x overlaps b"));
      for (const auto& [b, x] : {std::pair(there, there + shift), std::pair(there + shift, there)})
        CHECK_THROWS_WITH(given.solver.enqueue(nullptr, given.values_there.data(), b, x), contains("x overlaps b"));
    }
    CHECK_THROWS_WITH(given.solver.solve(values, std::span<const double>(both.data(), entries),
                                         std::span<double>(values.data() + 3, entries)),
                      contains("x overlaps the values"));
    CHECK_THROWS_WITH(given.solver.enqueue(nullptr, given.values_there.data(), there, given.values_there.data() + 3),
                      contains("x overlaps the values"));
    CHECK(both == overlapping::ones(2 * entries));
    CHECK(values == given.values);
    CHECK(overlapping::copied(given.both_there) == overlapping::ones(2 * entries));
    CHECK(overlapping::copied(given.values_there) == given.values);
  }
}

TEST_CASE("x of a batch may be b, or lie beside it", "[sizes][batch]") {
  for (const std::string& executor : batch_executors())
    for (const std::size_t shift : {std::size_t{0}, overlapping::entries}) {
      INFO(executor << ", x " << shift << " entries after b");
      overlapping given(executor);
      constexpr std::size_t rows = overlapping::rows, entries = overlapping::entries;
      std::vector<double> both = overlapping::ones(2 * entries);
      CHECK(given.solver
                .solve(given.values, std::span<const double>(both.data(), entries),
                       std::span<double>(both.data() + shift, entries))
                .all_converged());
      double* const there = given.both_there.data();
      CHECK(given.solver.enqueue(nullptr, given.values_there.data(), there, there + shift).wait().all_converged());
      for (const std::vector<double>& found : {both, overlapping::copied(given.both_there)})
        for (std::size_t k = 0; k < overlapping::systems; ++k) {
          const auto first = found.begin() + static_cast<std::ptrdiff_t>(shift + k * rows);
          // The residual asked for is 1e-8 of ||b||, as the solver sees it; rounding adds some epsilons.
          CHECK(relative_residual(given.A, overlapping::ones(rows), {first, first + rows}) <= 1e-8 * (1 + 1e-6));
        }
    }
}

}  // namespace whilst_test
