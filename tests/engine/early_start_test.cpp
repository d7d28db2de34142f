// compiled by nvcc where CUDA is on
// Steps that start before the step before the last has ended, where what they read ahead allows it.

#include "tests/catch.hpp"
#include "tests/engine/nests.hpp"
#include "tests/engine/toy.hpp"
#include "whilst/linear/methods/conjugate_gradient.hpp"

namespace whilst_test {

using whilst::control_settings;
using whilst::detail::fetches_only_constants;

namespace {

struct fetches_by_lanes {
  template <class Team>
  int fetch(index_type, const Team&) const;
};
struct fetches_otherwise {
  int fetch(index_type, int) const;
  int fetch(const char*) const;
};
struct fetches_declared : fetches_by_lanes {
  static constexpr bool fetches_constants = true;
};
struct closed final {};
union either {
  int one;
  float other;
};
static_assert(fetches_only_constants<add_one>() && fetches_only_constants<whilst::detail::no_map>());
static_assert(!fetches_only_constants<fetches_by_lanes>() && !fetches_only_constants<fetches_otherwise>());
static_assert(!fetches_only_constants<closed>(), "what cannot be looked into says so itself");
static_assert(!fetches_only_constants<either>(), "likewise");
static_assert(fetches_only_constants<void (*)(index_type)>());
static_assert(fetches_only_constants<fetches_declared>());

// The values of a solve's matrix are nobody's to write while it runs; those behind other slots may be made by a step.
template <class Values>
using matrix = whilst::csr_operator<double, std::int32_t, Values>;
template <class Values>
using method = whilst::conjugate_gradient<double, matrix<Values>, whilst::identity_preconditioner>;
template <class Values>
using product = whilst::detail::product_by_rows<double, matrix<Values>, const double*, typename method<Values>::dots>;
static_assert(product<whilst::constant_slot<const double>>::fetches_constants);
static_assert(!product<whilst::slot<const double>>::fetches_constants);
static_assert(!product<whilst::fixed_slot<const double>>::fetches_constants);
static_assert(!fetches_only_constants<method<whilst::constant_slot<const double>>::advance>());

/// Of its neighbours, so that blocks depend on one another; in integers, hence to the bit.
WHILST_HD index_type around(index_type i, index_type n) { return (i + n / 2 + 1) % n; }

/// y = x around i + 1; fetches nothing.
struct shift {
  const double* x;
  double* y;
  index_type n;
  WHILST_HD void operator()(index_type i) const { y[i] = x[around(i, n)] + 1; }
};
/// y += weights of i, which are fetched, and nobody writes; x around i.
struct add_weights {
  static constexpr bool fetches_constants = true;
  const double *weights, *x;
  double* y;
  index_type n;
  template <class Team>
  WHILST_HD double fetch(index_type i, const Team&) const {
    return whilst::read_constant(weights + i);
  }
  template <class Team>
  WHILST_HD double read(index_type i, const Team&, double weight) const {
    return weight + x[around(i, n)];
  }
  WHILST_HD void operator()(index_type i, double sum) const { y[i] += sum; }
};
/// x = y, and what the step before the last wrote, fetched while the last one may be running.
struct take_back {
  static constexpr bool fetches_constants = false;
  const double *y, *z;
  double* x;
  index_type n;
  template <class Team>
  WHILST_HD double fetch(index_type i, const Team& team) const {
    return team.early(y + around(i, n));
  }
  template <class Team>
  WHILST_HD double read(index_type i, const Team&, double early) const {
    return early - z[i];
  }
  WHILST_HD void operator()(index_type i, double value) const { x[i] = value; }
};

std::vector<double> expected(const std::vector<double>& weights, index_type trips) {
  const index_type n = static_cast<index_type>(weights.size());
  const auto at = [](std::vector<double>& v, index_type i) -> double& { return v[static_cast<std::size_t>(i)]; };
  std::vector<double> x(weights.size()), y(weights.size()), z(weights.size());
  for (index_type trip = 0; trip < trips; ++trip) {
    for (index_type i = 0; i < n; ++i) at(y, i) = at(x, around(i, n)) + 1;
    for (index_type i = 0; i < n; ++i) at(z, i) += weights[static_cast<std::size_t>(i)] + at(y, around(i, n));
    for (index_type i = 0; i < n; ++i) at(y, i) = at(z, around(i, n)) + 1;
    for (index_type i = 0; i < n; ++i) at(z, i) = at(x, around(i, n)) + 1;
    for (index_type i = 0; i < n; ++i) at(x, i) = at(y, around(i, n)) - at(z, i);
  }
  return x;
}

}  // namespace

TEST_CASE("steps that start early find what those before them wrote", "[semantics][sanitizer]") {
  for (const way& w : ways()) {
    for (const index_type n : {7, 700, 300'000}) {
      const index_type trips = 9;
      std::vector<double> weights(static_cast<std::size_t>(n));
      for (index_type i = 0; i < n; ++i) weights[static_cast<std::size_t>(i)] = static_cast<double>(i % 5);
      const std::vector<double> wanted = expected(weights, trips);
      for (const unsigned seed : {0u, 3u, 11u}) {
        for (const bool overlap : {true, false}) {
          INFO(w.name << ", n " << n << ", delays " << seed << (overlap ? ", overlapping" : ""));
          whilst::buffer<double> weight(w.where, n), x(w.where, n), y(w.where, n), z(w.where, n);
          whilst::buffer<control> c(w.where, 1);
          weight.upload(weights.data());
          whilst::program_recorder record(w.where);
          record.loop("shuffle", c.data(), [&](auto& run) {
            run.step("y = x + 1", n, shift{x.data(), y.data(), n});
            run.step("z += weights + y", n, add_weights{weight.data(), y.data(), z.data(), n});
            run.step("y = z + 1", n, shift{z.data(), y.data(), n});
            run.step("z = x + 1", n, shift{x.data(), z.data(), n});
            run.step("x = y - z", n, take_back{y.data(), z.data(), x.data(), n}, whilst::count_iteration{});
          });
          record.parameter(&c.data()->settings, control_settings{.limit = trips});
          whilst::program program = std::move(record).finish();
          program.prepare({.how = w.how, .unroll = 4, .programmatic_launch = overlap, .delay_seed = seed});
          run(program);
          CHECK((values(x) == wanted));
        }
      }
    }
  }
}

}  // namespace whilst_test
