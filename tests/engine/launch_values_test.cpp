// compiled by nvcc where CUDA is on
// Values and pointers that each launch takes from the program: parameters and slots.

#include <array>
#include <string>

#include "tests/catch.hpp"
#include "tests/engine/launch_journal.hpp"
#include "tests/engine/nests.hpp"
#include "tests/engine/toy.hpp"

namespace whilst_test {

using whilst::executor;
using whilst::program_recorder;
using whilst::slot;

namespace {

struct add_value {
  const float* value;
  double* x;
  WHILST_HD void operator()(index_type i) const { x[i] += *value; }
};

/// x = 2 x + value, once.
struct append_bit {
  const float* value;
  double* x;
  WHILST_HD void operator()() const { *x = 2 * *x + *value; }
};

/// Copies bytes, index by index.
struct copy_bytes {
  const unsigned char* source;
  unsigned char* target;
  WHILST_HD void operator()(index_type i) const { target[i] = source[i]; }
};

template <std::size_t bytes>
struct struct_of {
  unsigned char of[bytes];
};
// Without padding, whose bytes nobody promises to copy.
struct alignas(64) aligned {
  double numbers[8];
};
struct has_pointer {
  const double* pointer;
  float numbers[2];
};

template <class T>
T filled(unsigned char first) {
  T made;
  auto* const bytes = reinterpret_cast<unsigned char*>(&made);
  for (std::size_t k = 0; k < sizeof(T); ++k) bytes[k] = static_cast<unsigned char>(first + 7 * k);
  return made;
}

/// What a launch finds at a parameter of this type, as bytes, by name and by handle.
template <class T>
void check_bytes(const way& w) {
  INFO(w.name << ", " << sizeof(T) << " bytes");
  constexpr auto bytes = static_cast<index_type>(sizeof(T));
  const auto same = [](const whilst::buffer<unsigned char>& found, const T& expected) {
    return std::memcmp(values(found).data(), &expected, sizeof(T)) == 0;
  };
  whilst::buffer<unsigned char> found(w.where, bytes), between(w.where, 1);
  program_recorder record(w.where);
  const auto before = record.parameter<char>("before", 'b');
  const auto given = record.parameter<T>("given", filled<T>(1));
  const auto after = record.parameter<char>("after", 'a');
  CHECK(reinterpret_cast<std::uintptr_t>(given.get()) % alignof(T) == 0);
  record.step("look", bytes, copy_bytes{reinterpret_cast<const unsigned char*>(given.get()), found.data()});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how});
  run(program);
  CHECK(same(found, filled<T>(1)));
  program.set(given, filled<T>(2));
  run(program);
  CHECK(same(found, filled<T>(2)));
  program.set("given", filled<T>(3));
  program.set(before, 'B');
  program.set(after, 'A');
  run(program);
  CHECK(same(found, filled<T>(3)));
}

}  // namespace

TEST_CASE("a parameter has memory of its own, and a launch takes the value of the moment", "[parameters]") {
  for (const way& w : ways()) {
    INFO(w.name);
    whilst::buffer<double> x(w.where, 300);
    program_recorder record(w.where);
    const auto step_size = record.parameter<float>("step size", 0.5f);
    record.step("x += step size", 300, add_value{step_size.get(), x.data()});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    run(program);
    CHECK((values(x) == std::vector<double>(300, 0.5)));
    program.set(step_size, 2);  // converted, as an argument is
    run(program);
    run(program);
    CHECK((values(x) == std::vector<double>(300, 4.5)));
    program.set("step size", 0.25f);
    program.prepare({.how = w.how});  // keeps what was set
    run(program);
    CHECK((values(x) == std::vector<double>(300, 4.75)));
    const whilst::program moved = std::move(program);
  }
}

TEST_CASE("parameters may be of any size and alignment", "[parameters][sanitizer]") {
  for (const way& w : ways()) {
    check_bytes<char>(w);
    check_bytes<std::int16_t>(w);
    check_bytes<struct_of<3>>(w);
    check_bytes<int>(w);
    check_bytes<struct_of<12>>(w);
    check_bytes<struct_of<17>>(w);
    check_bytes<aligned>(w);
    check_bytes<has_pointer>(w);
    check_bytes<struct_of<4096>>(w);
  }
}

TEST_CASE("what is no parameter is refused when it is compiled", "[parameters]") {
  STATIC_REQUIRE(whilst::launch_value<struct_of<4096>>);
  STATIC_REQUIRE_FALSE(whilst::launch_value<struct_of<4097>>);
  STATIC_REQUIRE_FALSE(whilst::launch_value<std::string>);
  STATIC_REQUIRE_FALSE(whilst::launch_value<const float>);
}

TEST_CASE("a parameter at the caller's address leaves its neighbours alone", "[parameters]") {
  for (const way& w : ways()) {
    INFO(w.name);
    std::vector<unsigned char> expected(32, 0xEE);
    whilst::buffer<unsigned char> memory(w.where, 32);
    memory.upload(expected.data());
    program_recorder record(w.where);
    const auto odd = record.parameter(reinterpret_cast<struct_of<11>*>(memory.data() + 3), filled<struct_of<11>>(1));
    const auto number = record.parameter(reinterpret_cast<float*>(memory.data() + 20), 1.5f);
    record.step("nothing", 1, copy_bytes{memory.data(), memory.data()});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    program.set(odd, filled<struct_of<11>>(9));
    program.set(number, 2.5f);
    run(program);
    const auto bytes = filled<struct_of<11>>(9);
    const float two_and_a_half = 2.5f;
    std::memcpy(expected.data() + 3, &bytes, sizeof bytes);
    std::memcpy(expected.data() + 20, &two_and_a_half, sizeof(float));
    CHECK((values(memory) == expected));
  }
}

TEST_CASE("a thousand parameters arrive, in a loop and without one", "[parameters][sanitizer]") {
  constexpr index_type n = 1000;
  for (const way& w : ways()) {
    for (const bool in_loop : {false, true}) {
      INFO(w.name << (in_loop ? ", in a loop" : ""));
      whilst::buffer<control> c(w.where, 1);
      set_limits(c, {2});
      whilst::buffer<double> x(w.where, n);
      program_recorder record(w.where);
      std::vector<whilst::parameter<float>> all;
      for (index_type k = 0; k < n; ++k)
        all.push_back(record.parameter<float>(("number " + std::to_string(k)).c_str(), static_cast<float>(k)));
      const auto add_all = [&](auto& run) {
        for (index_type k = 0; k < n; k += 111) run.step("x += value", 1, add_value{all[k].get(), x.data() + k});
      };
      if (in_loop) {
        record.loop("twice", c.data(), add_all);
      } else {
        add_all(record);
      }
      whilst::program program = std::move(record).finish();
      program.prepare({.how = w.how});
      run(program);
      for (const index_type k : {0, 333, 999}) program.set(all[static_cast<std::size_t>(k)], 0.5f);
      run(program);
      const std::vector<double> found = values(x);
      const double times = in_loop ? 2 : 1;
      for (index_type k = 0; k < n; k += 111) {
        const bool changed = k % 333 == 0;
        CHECK(found[static_cast<std::size_t>(k)] == times * (static_cast<double>(k) + (changed && k != 666 ? 0.5 : k)));
      }
    }
  }
}

TEST_CASE("queued launches keep the parameters that they were enqueued with", "[parameters]") {
  for (const way& w : ways()) {
    for (const bool in_loop : {false, true}) {
      INFO(w.name << (in_loop ? ", in a loop" : ""));
      whilst::buffer<control> c(w.where, 1);
      set_limits(c, {1});
      whilst::buffer<double> x(w.where, 1);
      program_recorder record(w.where);
      const auto bit = record.parameter<float>("bit", 0.0f);
      add_slow_step(record);
      const auto append = [&](auto& run) { run.once("x = 2 x + bit", append_bit{bit.get(), x.data()}); };
      if (in_loop) {
        record.loop("once", c.data(), [&](auto& run) {
          append(run);
          run.once("count", whilst::count_iteration{});
        });
      } else {
        append(record);
      }
      whilst::program program = std::move(record).finish();
      program.prepare({.how = w.how});
      double expected = 0;
      for (const int k : bits_in_turn()) {
        program.set(bit, k);
        program.enqueue(nullptr);
        expected = 2 * expected + k;
      }
      program.wait();
      CHECK(value(x) == expected);
    }
  }
}

namespace {

struct scale {
  slot<const double> source;
  slot<double> target;
  WHILST_HD void operator()(index_type i) const { target.get()[i] = 2 * source.get()[i]; }
};

}  // namespace

TEST_CASE("slots are bound launch by launch", "[parameters]") {
  constexpr index_type n = 40;
  for (const way& w : ways()) {
    INFO(w.name);
    program_recorder record(w.where);
    const auto source = record.slot<const double>("source");
    const auto target = record.slot<double>("target");
    record.step("target = 2 source", n, scale{source, target.view()});
    whilst::program program = std::move(record).finish();
    program.prepare({.how = w.how});
    std::vector<whilst::buffer<double>> from, to;
    for (int k = 0; k < 5; ++k) {
      from.emplace_back(w.where, n);
      to.emplace_back(w.where, n);
      from.back().upload(std::vector<double>(n, k + 1.0).data());
    }
    for (std::size_t k = 0; k < from.size(); ++k) {
      program.bind(source, from[k].data());
      program.bind("target", to[k].data());
      program.enqueue(nullptr);
    }
    program.wait();
    for (std::size_t k = 0; k < to.size(); ++k)
      CHECK((values(to[k]) == std::vector<double>(n, 2.0 * (static_cast<double>(k) + 1))));
    program.bind("source", to[0].data());  // a double* for a slot of const double
    run(program);
    CHECK((values(to[4]) == std::vector<double>(n, 4.0)));
  }
}

TEST_CASE("misuse of parameters and slots is told", "[parameters]") {
  const place host = place::host();
  whilst::buffer<double> x(host, 4);
  program_recorder record(host);
  const auto step_size = record.parameter<float>("step size", 1.0f);
  CHECK_THROWS_WITH(record.parameter<int>("step size", 1), contains("there is a 'step size' already"));
  CHECK_THROWS_WITH(record.parameter<int>("", 1), contains("it has no name"));
  const auto source = record.slot<const double>("source");
  record.step("target = 2 source", 4, scale{source, {nullptr}});
  whilst::program program = std::move(record).finish();
  program.prepare({});
  CHECK_THROWS_WITH(program.set("step size", 0.5),
                    contains("parameter 'step size': it is of type float, and the value of type double"));
  CHECK_THROWS_WITH(program.set("stepsize", 0.5f), contains("none of that name. It has 'step size', 'source'"));
  CHECK_THROWS_WITH(program.bind("source", reinterpret_cast<float*>(x.data())),
                    contains("it is of type double const*"));
  CHECK_THROWS_WITH(program.bind(source, nullptr), contains("the pointer is null"));
  CHECK_THROWS_WITH(program.enqueue(nullptr), contains("slot 'source' is bound to nothing. Call program.bind"));

  program_recorder another(host);
  const auto foreign = another.parameter<float>("step size", 1.0f);
  const auto foreign_slot = another.slot<double>("x");
  whilst::program other = std::move(another).finish();
  CHECK_THROWS_WITH(program.set(foreign, 2.0f), contains("the handle is of another program"));
  CHECK_THROWS_WITH(program.bind(foreign_slot, x.data()), contains("the handle is of another program"));
  CHECK_THROWS_WITH(program.set(whilst::parameter<float>{}, 2.0f), contains("the handle refers to nothing"));
  CHECK_THROWS_WITH(whilst::program(program_recorder(host).finish()).set("x", 1.0f),
                    contains("run.parameter(name, value)"));
  other.set(foreign, 2.0f);
  program.set(step_size, 2.0f);
}

#if WHILST_WITH_CUDA

TEST_CASE("a captured program keeps the parameters of its capture", "[parameters][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  whilst::buffer<double> x(place::gpu(0), 1);
  program_recorder record(place::gpu(0));
  const auto amount = record.parameter<float>("amount", 1.0f);
  record.step("x += amount", 1, add_value{amount.get(), x.data()});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = executor::graph});
  const whilst::cuda::stream stream = whilst::cuda::make_stream();
  const whilst::cuda::graph_exec captured = capture_of(stream.get(), program);
  program.set(amount, 100.0f);
  REQUIRE(cudaGraphLaunch(captured.get(), stream.get()) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK(value(x) == 1);
  run(program);
  CHECK(value(x) == 101);
}

TEST_CASE("a launch after another on one stream waits for nothing, and costs few calls", "[parameters][gpu]") {
  if (whilst::cuda::device_count() == 0) return;
  whilst::buffer<double> x(place::gpu(0), 1);
  program_recorder record(place::gpu(0));
  const auto amount = record.parameter<float>("amount", 1.0f);
  record.step("x += amount", 1, add_value{amount.get(), x.data()});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = executor::graph});
  const whilst::cuda::stream stream = whilst::cuda::make_stream(), other = whilst::cuda::make_stream();
  program.enqueue(stream.get());
  {
    const counted_calls calls;
    program.enqueue(stream.get());
    CHECK(calls.of("cudaStreamWaitEvent") == 0);
    CHECK(calls.of("cudaGraphExecKernelNodeSetParams") == 0);  // the same value
    CHECK(calls.of("cudaLaunchKernel") == 0);
    CHECK(calls.size() <= 5);
  }
  {
    const counted_calls calls;
    program.set(amount, 4.0f);
    CHECK(calls.size() == 0);
    program.enqueue(stream.get());
    CHECK(calls.of("cudaGraphExecKernelNodeSetParams") == 1);
    CHECK(calls.of("cudaLaunchKernel") == 0);
  }
  {
    const counted_calls calls;
    program.enqueue(other.get());
    CHECK(calls.of("cudaStreamWaitEvent") == 1);
  }
  program.wait();
  CHECK(value(x) == 1 + 1 + 4 + 4);
}

#endif

}  // namespace whilst_test
