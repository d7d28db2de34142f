#pragma once

#include <utility>

namespace whilst::detail {

/// Changes a variable for its own lifetime: what an exception leaves midway finds the variable as it was.
template <class T>
class restored {
 public:
  restored(T& variable, T meanwhile) : variable_(variable), before_(std::exchange(variable, meanwhile)) {}
  ~restored() { variable_ = before_; }
  restored(const restored&) = delete;
  restored& operator=(const restored&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace whilst::detail
