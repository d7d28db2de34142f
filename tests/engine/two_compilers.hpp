#pragma once

#include <string>

namespace whilst_test {

/// The types of a step that every loop without a verdict records, and of its handle, as this source's compiler names
/// them; and whether the step has kernels.
struct names_of_steps {
  std::string step, handle;
  bool has_kernels;
};
names_of_steps names_by_nvcc();

}  // namespace whilst_test
