#include "whilst/engine/launch_values.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "whilst/basics/error.hpp"

namespace whilst {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);
/// Allocation granularity: keeps small values close together.
constexpr std::size_t bytes_at_a_time = 4096;

std::uint64_t next_owner() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::string readable(std::type_index type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : type.name();
}

}  // namespace

launch_values::launch_values(place where) : where_(where), owner_(next_owner()) {}

std::size_t launch_values::add_words(void* address, std::size_t bytes) {
  const std::size_t first = words_.size();
  for (std::size_t at = 0; at < bytes; at += word)
    words_.push_back({static_cast<std::byte*>(address) + at, 0, static_cast<int>(std::min(word, bytes - at))});
  return first;
}

void launch_values::set_words(std::size_t first, const void* value, std::size_t bytes) {
  const auto* const source = static_cast<const std::byte*>(value);
  for (std::size_t at = 0; at < bytes; at += word)
    std::memcpy(&words_[first + at / word].value, source + at, std::min(word, bytes - at));
}

void* launch_values::memory_for(std::size_t bytes, std::size_t alignment) {
  const std::size_t step = std::max(alignment, word);
  used_ = (used_ + step - 1) / step * step;
  if (memory_.empty() || used_ + bytes > memory_.back().bytes()) {
    memory_.emplace_back(where_, std::max(bytes, bytes_at_a_time));
    used_ = 0;
  }
  void* const piece = static_cast<std::byte*>(memory_.back().data()) + used_;
  used_ += bytes;
  return piece;
}

void launch_values::check_name(const std::string& name) const {
  if (name.empty()) throw error("declaring a parameter", "it has no name", "Give it one");
  for (const named& known : names_)
    if (known.name == name)
      throw error("declaring a parameter", "there is a '" + name + "' already", "Give each a name of its own");
}

bool launch_values::is_there(std::string_view name, std::type_index type) const {
  return std::any_of(names_.begin(), names_.end(),
                     [&](const named& known) { return known.name == name && known.type == type; });
}

const launch_values::named& launch_values::find_named(std::string_view name, std::type_index type) const {
  const std::string doing = "setting parameter '" + std::string(name) + "'";
  std::string others;
  for (const named& known : names_) {
    if (known.name == name) {
      if (known.type == type) return known;
      throw error(doing, "it is of type " + readable(known.type) + ", and the value of type " + readable(type),
                  "Give a value of the type that it was declared with");
    }
    others += (others.empty() ? "'" : ", '") + known.name + "'";
  }
  throw error(doing, "the program has none of that name",
              others.empty() ? "Declare it when recording: run.parameter(name, value)" : "It has " + others);
}

void launch_values::check_owner(std::uint64_t owner, std::string_view doing) const {
  if (owner == owner_) return;
  throw error(doing, owner ? "the handle is of another program" : "the handle refers to nothing",
              "Use the one that recording this program returned");
}

void launch_values::check_slots() const {
  for (const auto& [name, first] : slots_)
    if (words_[first].value == 0)
      throw error("enqueueing a program", "slot '" + name + "' is bound to nothing", "Call program.bind first");
}

}  // namespace whilst
