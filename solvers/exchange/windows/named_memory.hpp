#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace whilst::windows {

/// POSIX shared memory: zeroed memory that other processes of this machine can open by its name until it is unlinked,
/// as this object goes.
class named_memory {
 public:
  using name_text = std::array<char, 64>;

  /// New memory, under a name of its own. Throws whilst::error where there is no room.
  static std::unique_ptr<named_memory> made(std::size_t bytes);
  /// Another process's, which has not unlinked it yet.
  static std::shared_ptr<void> opened(const name_text& name, std::size_t bytes);
  ~named_memory() { unlink(); }
  named_memory(const named_memory&) = delete;
  named_memory& operator=(const named_memory&) = delete;

  /// It outlives this object.
  const std::shared_ptr<void>& memory() const { return memory_; }
  name_text name() const;

 private:
  named_memory(std::size_t bytes, std::string name, bool makes_it);
  void unlink() const;
  std::string name_;
  bool owns_name_;
  std::shared_ptr<void> memory_;
};

}  // namespace whilst::windows
