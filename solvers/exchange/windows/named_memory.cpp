#include "solvers/exchange/windows/named_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "whilst/basics/error.hpp"

namespace whilst::windows {
namespace {

[[noreturn]] void refuse_shared_memory(const std::string& doing) {
  throw error(doing, std::generic_category().message(errno), "See whether /dev/shm is there and has room");
}

}  // namespace

std::unique_ptr<named_memory> named_memory::made(std::size_t bytes) {
  static std::atomic<int> count{0};
  static const unsigned token = std::random_device()();  // processes of several containers may have one number
  const std::string name =
      "/whilst-" + std::to_string(getpid()) + "-" + std::to_string(token) + "-" + std::to_string(count++);
  return std::unique_ptr<named_memory>(new named_memory(bytes, name, true));
}
std::shared_ptr<void> named_memory::opened(const name_text& name, std::size_t bytes) {
  return named_memory(bytes, name.data(), false).memory();
}

named_memory::named_memory(std::size_t bytes_asked, std::string name, bool makes_it)
    : name_(std::move(name)), owns_name_(makes_it) {
  const std::size_t bytes = std::max<std::size_t>(bytes_asked, 1);
  const std::string doing = (makes_it ? "making" : "opening") + std::string(" shared memory for the ranks of a group");
  const int file = shm_open(name_.c_str(), makes_it ? O_CREAT | O_EXCL | O_RDWR : O_RDWR, 0600);
  if (file < 0) refuse_shared_memory(doing);
  int refused = 0;
  do {
    refused = makes_it ? posix_fallocate(file, 0, static_cast<off_t>(bytes)) : 0;
  } while (refused == EINTR);
  const bool has_room = refused == 0;
  void* const mapped = has_room ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  const int why = has_room ? errno : refused;
  close(file);
  if (mapped == MAP_FAILED) {
    unlink();
    errno = why;
    refuse_shared_memory(doing);
  }
  memory_ = std::shared_ptr<void>(mapped, [bytes](void* at) { munmap(at, bytes); });
}

named_memory::name_text named_memory::name() const {
  name_text text{};
  std::copy_n(name_.begin(), std::min(name_.size(), text.size() - 1), text.begin());
  return text;
}

void named_memory::unlink() const {
  if (owns_name_) shm_unlink(name_.c_str());
}

}  // namespace whilst::windows
