#pragma once

// What the semantics tests run: places and executors of this machine, and small loops in exact arithmetic.

#include <string>
#include <vector>

#include "tests/under_racecheck.hpp"
#include "whilst/control.hpp"
#include "whilst/engine/memory/cuda.hpp"
#include "whilst/recorder.hpp"

namespace whilst_test {

using whilst::index_type;

struct way {
  whilst::place where;
  whilst::executor how;
  std::string name;
};

/// Every place and executor for recorded programs that this machine has.
inline std::vector<way> ways() {
  std::vector<way> all{{whilst::place::host(), whilst::executor::host, "host"}};
  if (whilst::cuda::device_count() > 0) {
    all.push_back({whilst::place::gpu(0), whilst::executor::stream, "stream"});
    if (!under_racecheck()) all.push_back({whilst::place::gpu(0), whilst::executor::graph, "graph"});
  }
  return all;
}

template <class T>
std::vector<T> values(const whilst::buffer<T>& device) {
  std::vector<T> host(static_cast<std::size_t>(device.size()));
  device.download(host.data());
  return host;
}
template <class T>
T value(const whilst::buffer<T>& device) {
  return values(device).front();
}

/// Runs a program once, from start to end.
inline void run(whilst::program& program) {
  program.enqueue(nullptr);
  program.wait();
}

/// Adds `amount` to one counter, as a finish.
struct add_to {
  index_type* counter;
  index_type amount;
  WHILST_HD void operator()() const { *counter += amount; }
};

/// A loop of three steps whose verdict comes in the first, the middle or the last. The numbers are small integers, so
/// sums are exact in any order and a plain loop is an oracle to the bit.
struct three_steps {
  index_type n;
  double *x, *y, *z;
  whilst::control* c;
  const index_type* stop_at;
  int verdict_in;

  struct first {
    const double* x;
    double* y;
    WHILST_HD auto operator()(index_type i) const {
      y[i] = x[i] + static_cast<double>(i % 7 + 3);
      return whilst::sums{y[i]};
    }
  };
  struct middle {
    double *x, *y;
    WHILST_HD auto operator()(index_type i) const {
      x[i] = y[i] - 2;
      return whilst::sums{x[i], 1.0};
    }
  };
  struct last {
    const double* x;
    double* z;
    WHILST_HD auto operator()(index_type i) const {
      z[i] += x[i];
      return whilst::sums{z[i]};
    }
  };
  struct verdict {
    whilst::control* c;
    const index_type* stop_at;
    int mine, given_in;
    template <int k>
    WHILST_HD void operator()(const whilst::sums<double, k>& total) const {
      if (mine != given_in) return;
      c->updating = 1;
      if (c->check(total[0])) return;
      if (c->iteration == *stop_at) c->stop(whilst::reason::completed);
    }
  };

  template <class Run>
  WHILST_HD void operator()(Run& run) const {
    run.loop("three steps", c, [&](auto& inner) {
      inner.step("y = x + ...", n, first{x, y}, verdict{c, stop_at, 0, verdict_in});
      inner.step("x = y - 2", n, middle{x, y}, verdict{c, stop_at, 1, verdict_in});
      inner.step("z += x", n, last{x, z}, verdict{c, stop_at, 2, verdict_in});
    });
  }

  struct expectation {
    std::vector<double> x, y, z;
    std::vector<whilst::history_record> history;
  };
  /// The same in plain C++: `trips` trips, the last one cut short by the verdict.
  static expectation expected(index_type n, index_type trips, int verdict_in) {
    const auto count = static_cast<std::size_t>(n);
    expectation e{std::vector<double>(count), std::vector<double>(count), std::vector<double>(count), {}};
    const auto total = [](const std::vector<double>& v) {
      double sum = 0;
      for (const double value : v) sum += value;
      return sum;
    };
    for (index_type trip = 1; trip <= trips; ++trip) {
      for (std::size_t i = 0; i < count; ++i) e.y[i] = e.x[i] + static_cast<double>(i % 7 + 3);
      if (verdict_in == 0) e.history.push_back({trip, total(e.y)});
      if (verdict_in == 0 && trip == trips) break;
      for (std::size_t i = 0; i < count; ++i) e.x[i] = e.y[i] - 2;
      if (verdict_in == 1) e.history.push_back({trip, total(e.x)});
      if (verdict_in == 1 && trip == trips) break;
      for (std::size_t i = 0; i < count; ++i) e.z[i] += e.x[i];
      if (verdict_in == 2) e.history.push_back({trip, total(e.z)});
    }
    return e;
  }
};

/// Memory for three_steps on a place.
struct three_steps_memory {
  whilst::buffer<double> x, y, z;
  whilst::buffer<whilst::control> c;
  whilst::buffer<index_type> stop_at;
  whilst::buffer<whilst::history_record> history;

  three_steps_memory(whilst::place where, index_type n, index_type capacity = 64)
      : x(where, n), y(where, n), z(where, n), c(where, 1), stop_at(where, 1), history(where, capacity) {}

  three_steps method(int verdict_in) const {
    return {x.size(), x.data(), y.data(), z.data(), c.data(), stop_at.data(), verdict_in};
  }
  whilst::control_settings settings(index_type limit = 1000) const {
    whilst::control_settings made;
    made.limit = limit;
    made.history = history.data();
    made.history_capacity = history.size();
    return made;
  }
  void zero() {
    const std::vector<double> zeros(static_cast<std::size_t>(x.size()), 0.0);
    x.upload(zeros.data());
    y.upload(zeros.data());
    z.upload(zeros.data());
  }
};

}  // namespace whilst_test
