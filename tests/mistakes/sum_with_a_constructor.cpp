// refused: what a map returns is copied byte by byte and added up: return numbers, or whilst::sums of them
#include "whilst/engine/recorder.hpp"

using namespace whilst;

struct counted {
  double value = 0;
  counted() = default;
  counted(const counted& other) : value(other.value) {}
  counted& operator=(const counted&) = default;
  counted& operator+=(const counted& other) {
    value += other.value;
    return *this;
  }
};

struct count_rows {
  counted operator()(index_type) const { return {}; }
};

struct keep_count {
  void operator()(const counted&) const {}
};

void record(recorder& run) { run.step("count", 10, count_rows{}, keep_count{}); }
