#pragma once

/// What the stops of the tour share: numbers to work on, a program run, a check.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tour.hpp"
#include "whilst/error.hpp"
#include "whilst/recorder.hpp"

namespace whilst::graph_tour {

template <class T>
std::vector<T> values(const buffer<T>& of) {
  std::vector<T> copied(static_cast<std::size_t>(of.size()));
  of.download(copied.data());
  return copied;
}

/// 1, 2, ..., n in the memory of a place.
inline buffer<double> one_to(place where, index_type n) {
  std::vector<double> numbers(static_cast<std::size_t>(n));
  for (index_type i = 0; i < n; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<double>(i + 1);
  buffer<double> made(where, n);
  made.upload(numbers.data());
  return made;
}

inline void run(program& prepared) {
  prepared.enqueue(nullptr);  // on the default stream
  prepared.wait();
}

/// What recording is for: prepared once, a program runs as often as you like. This is the first time.
inline program finish_and_run(program_recorder& record, const visitor& v) {
  program recorded = std::move(record).finish();
  recorded.prepare({.how = v.how});
  run(recorded);
  return recorded;
}

inline void check(bool is_so, const std::string& what) {
  if (!is_so) throw error("checking the tour", "it is not so that " + what, "Run the tests: something is broken");
  std::printf("  checked: %s\n", what.c_str());
}

}  // namespace whilst::graph_tour
