/// own_loop: square roots by Heron's method, a loop that is recorded by hand and decides by itself when to stop.

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <whilst/place_of_executor.hpp>
#include <whilst/recorder.hpp>

struct improve {  // a map: for each index, x = (x + a / x) / 2, and the squared relative change for the sum
  const double* a;
  double* x;
  WHILST_HD auto operator()(whilst::index_type i) const {
    const double next = 0.5 * (x[i] + a[i] / x[i]), change = (next - x[i]) / next;
    x[i] = next;
    return whilst::sums{change * change};
  }
};
struct stop_when_small {  // its finish: once, with the total
  WHILST_HD void operator()(const whilst::sums<double, 1>& total, whilst::loop_state& loop) const {
    loop.updating = 1;                // the step was an update, to be counted
    loop.check(std::sqrt(total[0]));  // stops at a tolerance, at the limit, and at what is not finite
  }
};

int main() {
  constexpr int n = 1000;
  std::vector<double> a(n);
  for (int i = 0; i < n; ++i) a[i] = i + 1;
  const whilst::place where = whilst::place_of_executor();
  whilst::buffer<double> a_there(where, n), x(where, n);
  whilst::buffer<whilst::control> loop(where, 1);
  a_there.upload(a.data());
  x.upload(a.data());

  whilst::program_recorder record(where);
  record.loop("roots", loop.data(), [&](whilst::recorder& run) {
    run.step("x = (x + a / x) / 2", n, improve{a_there.data(), x.data()}, stop_when_small{});
  });
  record.parameter(&loop.data()->settings, whilst::control_settings{.limit = 100});
  record.parameter(&loop.data()->atol_norm, 1e-8);
  whilst::program program = std::move(record).finish();
  program.prepare({.how = where.on_host() ? whilst::executor::host : whilst::executor::graph});
  program.enqueue(nullptr);  // one launch, whatever the number of iterations
  program.wait();

  whilst::control end;
  loop.download(&end);
  x.download(a.data());
  std::printf("%d iterations, %s: the root of %d is %.6f\n", static_cast<int>(end.iteration),
              std::string(whilst::name(end.why)).c_str(), n, a[n - 1]);
  return whilst::converged(end.why) ? 0 : 2;
}
