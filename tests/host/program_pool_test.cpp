// The rules of a program_cache, by things that cost nothing to make.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "whilst/program_cache.hpp"

namespace whilst_test {

using whilst::cache_counters;
using whilst::index_type;
using whilst::program_cache;

namespace {

/// A key whose hash, were there one, would be the same for all.
struct word {
  std::string text;
  bool operator==(const word&) const = default;
  std::string in_words() const { return "the word " + text; }
};

/// Counts those alive, and what was destroyed in which order.
struct thing {
  static inline int alive = 0;
  static inline std::vector<std::string> destroyed;
  std::string made_for;
  index_type size = 1;
  bool lost = false;

  explicit thing(std::string name, index_type bytes) : made_for(std::move(name)), size(bytes) { ++alive; }
  thing(const thing&) = delete;
  ~thing() {
    --alive;
    destroyed.push_back(made_for);
  }
  index_type bytes() const { return size; }
  bool is_lost() const { return lost; }
};

/// A key that is long compared, which the cache does with its lock held.
struct slow_word {
  static inline std::atomic<bool> is_compared{false};
  std::string text;
  bool operator==(const slow_word& other) const {
    is_compared = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return text == other.text;
  }
  std::string in_words() const { return text; }
};

whilst::lease<thing> borrow(program_cache& cache, const std::string& name, index_type bytes = 1) {
  return cache.borrow(word{name}, [&] { return thing(name, bytes); });
}

/// A cache, and things counted from zero.
struct fresh {
  program_cache cache;
  explicit fresh(whilst::cache_limits limits = {}) : cache(limits) {
    REQUIRE(thing::alive == 0);
    thing::destroyed.clear();
  }
  void use(const std::string& name, index_type bytes = 1) {
    const auto lent = borrow(cache, name, bytes);
    CHECK(lent->made_for == name);
  }
  /// hits, records, evictions, held
  void check(index_type hits, index_type records, index_type evictions, index_type held) const {
    const cache_counters now = cache.counters();
    CHECK(now.hits == hits);
    CHECK(now.records == records);
    CHECK(now.evictions == evictions);
    CHECK(now.programs == held);
    CHECK(thing::alive == held);
  }
};

}  // namespace

TEST_CASE("what was made for a key is found again, and hits are counted", "[cache]") {
  fresh f;
  f.use("a");
  f.use("b");
  f.check(0, 2, 0, 2);
  for (int i = 0; i < 5; ++i) f.use("a");
  f.use("b");
  f.check(6, 2, 0, 2);
  // A key of the same value, but for something of another type.
  struct other {
    index_type bytes() const { return 0; }
  };
  const auto different = f.cache.borrow(word{"a"}, [] { return other(); });
  CHECK(f.cache.counters().records == 3);
}

TEST_CASE("leases of one key at once are of different things", "[cache]") {
  fresh f;
  {
    const auto one = borrow(f.cache, "a"), two = borrow(f.cache, "a"), three = borrow(f.cache, "a");
    CHECK(&*one != &*two);
    CHECK(&*two != &*three);
    CHECK(&*one != &*three);
    CHECK(f.cache.counters().on_lease == 3);
  }
  CHECK(f.cache.counters().on_lease == 0);
  f.check(0, 3, 0, 3);
  const auto again = borrow(f.cache, "a");
  f.check(1, 3, 0, 3);
}

TEST_CASE("a lease can be moved, and one that is assigned to ends first", "[cache]") {
  fresh f;
  auto lent = borrow(f.cache, "a");
  thing* const held = &*lent;
  auto moved = std::move(lent);
  CHECK(&*moved == held);
  CHECK(f.cache.counters().on_lease == 1);
  moved = borrow(f.cache, "b");
  CHECK(moved->made_for == "b");
  CHECK(f.cache.counters().on_lease == 1);
  f.check(0, 2, 0, 2);
}

TEST_CASE("the least recently used goes first", "[cache]") {
  fresh f({.programs = 3});
  for (const char* name : {"a", "b", "c"}) f.use(name);
  f.use("a");
  CHECK(thing::destroyed.empty());
  f.use("d");
  CHECK((thing::destroyed == std::vector<std::string>{"b"}));
  f.use("b");
  CHECK((thing::destroyed == std::vector<std::string>{"b", "c"}));
  f.check(1, 5, 2, 3);
  f.use("a");
  f.use("d");
  f.use("b");
  f.check(4, 5, 2, 3);
}

TEST_CASE("what is on lease is not dropped, and the limits are kept once it is back", "[cache]") {
  fresh f({.programs = 1});
  {
    const auto a = borrow(f.cache, "a");
    {
      const auto b = borrow(f.cache, "b"), also_b = borrow(f.cache, "b");
      f.check(0, 3, 0, 3);
    }
    f.check(0, 3, 2, 1);
    CHECK(a->made_for == "a");
  }
  f.use("a");
  f.check(1, 3, 2, 1);
}

TEST_CASE("bytes are a limit, also of what grows while it is used", "[cache]") {
  fresh f({.bytes = 100});
  f.use("a", 40);
  f.use("b", 60);
  CHECK(f.cache.counters().bytes == 100);
  f.check(0, 2, 0, 2);
  f.use("c", 1);
  CHECK((thing::destroyed == std::vector<std::string>{"a"}));
  CHECK(f.cache.counters().bytes == 61);
  borrow(f.cache, "c")->size = 41;
  CHECK((thing::destroyed == std::vector<std::string>{"a", "b"}));
  CHECK(f.cache.counters().bytes == 41);
  // What is too large by itself is used and dropped.
  f.use("d", 101);
  CHECK(f.cache.counters().bytes == 0);
  f.check(1, 4, 4, 0);
}

TEST_CASE("a cache without room keeps nothing and works", "[cache]") {
  for (const whilst::cache_limits limits : {whilst::cache_limits{.programs = 0}, whilst::cache_limits{.bytes = 0}}) {
    fresh f(limits);
    f.use("a");
    f.use("a");
    f.check(0, 2, 2, 0);
  }
  CHECK_THROWS_WITH(program_cache({.programs = -1}), contains("a limit is negative"));
  program_cache cache;
  CHECK_THROWS_WITH(cache.set_limits({.bytes = -1}), contains("a limit is negative"));
  CHECK(cache.limits().bytes == whilst::cache_limits{}.bytes);
}

TEST_CASE("limits can be lowered", "[cache]") {
  fresh f;
  for (const char* name : {"a", "b", "c", "d"}) f.use(name);
  f.cache.set_limits({.programs = 2});
  CHECK((thing::destroyed == std::vector<std::string>{"a", "b"}));
  f.check(0, 4, 2, 2);
  CHECK(f.cache.limits().programs == 2);
}

TEST_CASE("an exception ends a lease, and one while making leaves nothing", "[cache]") {
  fresh f;
  const auto solve = [&] {
    const auto lent = borrow(f.cache, "a");
    throw whilst::error("a solve failed");
  };
  CHECK_THROWS_AS(solve(), whilst::error);
  CHECK(f.cache.counters().on_lease == 0);
  f.use("a");
  f.check(1, 1, 0, 1);
  for (int i = 0; i < 3; ++i)
    CHECK_THROWS_WITH(f.cache.borrow(word{"b"}, []() -> thing { throw whilst::error("no such thing"); }),
                      contains("no such thing"));
  CHECK(f.cache.counters().on_lease == 0);
  f.check(1, 1, 0, 1);
  CHECK_FALSE(f.cache.describe().find("the word a") == std::string::npos);
  CHECK(f.cache.describe().find("the word b") == std::string::npos);
}

TEST_CASE("when memory runs out, what is idle makes room", "[cache]") {
  fresh f;
  f.use("a");
  f.use("b");
  int attempts = 0;
  const auto make = [&]() -> thing {
    ++attempts;
    if (thing::alive > 0) throw whilst::out_of_memory("making a thing", "there is no room");
    return thing("large", 1);
  };
  (void)f.cache.borrow(word{"large"}, make);
  CHECK(attempts == 2);
  f.check(0, 3, 2, 1);
  // Nothing to drop any more: asked once.
  attempts = 0;
  const auto held = borrow(f.cache, "large");
  CHECK_THROWS_AS(f.cache.borrow(word{"larger"}, make), whilst::out_of_memory);
  CHECK(attempts == 1);
  f.check(1, 3, 2, 1);
}

TEST_CASE("reset drops everything, what is on lease when it comes back", "[cache]") {
  fresh f;
  f.use("a");
  auto b = borrow(f.cache, "b");
  f.cache.reset();
  CHECK((thing::destroyed == std::vector<std::string>{"a"}));
  CHECK(b->made_for == "b");
  f.use("b");  // a new one
  f.check(0, 3, 0, 2);
  b = borrow(f.cache, "c");
  CHECK((thing::destroyed == std::vector<std::string>{"a", "b"}));
  f.use("b");
  f.check(1, 4, 0, 2);
  f.cache.reset();
  f.cache.reset();
  f.check(1, 4, 0, 1);
}

TEST_CASE("a lease may outlive its cache", "[cache]") {
  auto cache = std::make_unique<fresh>();
  cache->use("a");
  {
    const auto lent = borrow(cache->cache, "b");
    cache.reset();
    CHECK(lent->made_for == "b");
  }
  CHECK(thing::alive == 0);
}

TEST_CASE("a child process uses a cache that another thread of its parent's was using", "[cache][threads]") {
  program_cache cache;
  const auto use = [&] { return cache.borrow(slow_word{"a"}, [] { return thing("a", 1); })->made_for == "a"; };
  CHECK(use());
  std::thread other(use);
  while (!slow_word::is_compared) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // instead of hanging
    _exit(use() ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  other.join();
  CHECK(use());
}

TEST_CASE("what was lost with its context is refused until reset", "[cache]") {
  fresh f;
  borrow(f.cache, "a")->lost = true;
  for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH(borrow(f.cache, "a"), contains("whilst::reset()"));
  CHECK_THROWS_WITH(borrow(f.cache, "a"), contains("context"));
  f.use("b");
  f.check(0, 2, 0, 2);
  f.cache.reset();
  f.use("a");
  f.check(0, 3, 0, 1);
}

TEST_CASE("a cache describes itself", "[cache]") {
  fresh f({.programs = 7, .bytes = 1234});
  f.use("a", 40);
  f.use("a", 40);
  const auto one = borrow(f.cache, "b", 5), two = borrow(f.cache, "b", 6);
  const std::string text = f.cache.describe();
  CHECK_THAT(text, contains("3 of at most 7 programs, 51 of at most 1234 bytes; 1 hits, 3 records, 0 evictions"));
  CHECK_THAT(text, contains("programs  on lease         bytes      hits  for\n"));
  CHECK_THAT(text, contains("       1         0            40         1  the word a\n"));
  CHECK_THAT(text, contains("       2         2            11         0  the word b\n"));
}

}  // namespace whilst_test
