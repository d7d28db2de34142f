#include "apps/common/program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "apps/common/interrupts.hpp"
#include "solvers/files/text_file.hpp"
#include "whilst/error.hpp"

namespace whilst::command {

int report_errors(const std::string& program, const std::string& too_large, const std::function<int()>& work) {
  tell_of_interrupts(program);
  try {
    return work();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "{}: not enough memory for {}\n", program, too_large);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}: {}\n", program, detail::printable(problem.what()));
  }
  return failed;
}

void require_standard_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw error("writing to standard output", "it failed", "Look whether its disk is full");
  }
}

}  // namespace whilst::command
