#pragma once

#include <memory>
#include <string>
#include <utility>

#include "whilst/basics/error.hpp"

namespace whilst::detail {

/// Throws whilst::error: the object was moved from. `owner` is the name users know it by: "linear_solver".
[[noreturn]] inline void refuse_moved_from(const char* owner) {
  throw error("using a " + std::string(owner), "it was moved from", "Use the one that it was moved to");
}

/// Owns the content that a movable object keeps behind a pointer. A moved-from object has none and throws when used.
template <class T>
class held {
 public:
  /// owner: outlives this, as a literal does.
  explicit held(const char* owner, std::unique_ptr<T> content = {}) : owner_(owner), content_(std::move(content)) {}

  T& operator*() const { return *there(); }
  T* operator->() const { return there(); }
  void reset(std::unique_ptr<T> content) { content_ = std::move(content); }

 private:
  T* there() const {
    if (!content_) refuse_moved_from(owner_);
    return content_.get();
  }
  const char* owner_;
  std::unique_ptr<T> content_;
};

}  // namespace whilst::detail
