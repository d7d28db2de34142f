// Not compiled by nvcc: a program may consist of sources by both compilers.
#include "tests/engine/two_compilers.hpp"

#include <typeinfo>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst_test {
namespace {

struct add_one {
  double* x;
  WHILST_HD void operator()(whilst::index_type i) const { x[i] += 1; }
};

}  // namespace

TEST_CASE("a step recorded by a source for the host is another type than that of a source for GPUs", "[semantics]") {
  const names_of_steps other = names_by_nvcc();
  CHECK_FALSE(whilst::by_nvcc);
  const std::string step = typeid(whilst::map_step<whilst::detail::no_map, whilst::count_iteration>).name();
  const std::string handle = typeid(whilst::step_handle<whilst::detail::no_map, whilst::count_iteration>).name();
  CHECK((step != other.step) == other.has_kernels);
  CHECK((handle != other.handle) == other.has_kernels);
}

TEST_CASE("a loop recorded by a source for the host runs there, and is refused by name on a GPU", "[semantics]") {
  // The step that counts is in every such loop, so that the two sources share it.
  for (const way& w : ways()) {
    INFO(w.name);
    whilst::buffer<whilst::control> c(w.where, 1);
    whilst::buffer<double> x(w.where, 5);
    whilst::program_recorder recorder(w.where);
    recorder.loop("adding", c.data(), [&](auto& run) { run.step("x += 1", 5, add_one{x.data()}); });
    whilst::program program = std::move(recorder).finish();
    if (w.where.on_host()) {
      c.data()->settings.limit = 3;
      program.prepare({.how = w.how});
      run(program);
      CHECK((values(x) == std::vector<double>(5, 3.0)));
    } else {
      CHECK_THROWS_WITH(program.prepare({.how = w.how}), contains("was not compiled by nvcc"));
    }
  }
}

}  // namespace whilst_test
