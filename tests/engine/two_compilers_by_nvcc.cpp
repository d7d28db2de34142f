// compiled by nvcc where CUDA is on
#include <typeinfo>

#include "tests/engine/two_compilers.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst_test {

names_of_steps names_by_nvcc() {
  return {typeid(whilst::map_step<whilst::detail::no_map, whilst::count_iteration>).name(),
          typeid(whilst::step_handle<whilst::detail::no_map, whilst::count_iteration>).name(), whilst::by_nvcc};
}

}  // namespace whilst_test
