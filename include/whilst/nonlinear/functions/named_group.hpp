#pragma once

#include <string>

namespace whilst::detail {

/// What groups of terms and groups of blocks have in common: a name, used in the titles of their steps.
class named_group {
 public:
  virtual ~named_group();

 protected:
  explicit named_group(const char* name);
  /// The title of a step: `what`, then the group's name.
  std::string title(const char* what) const;

 private:
  std::string name_;
};

}  // namespace whilst::detail
