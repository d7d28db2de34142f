#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "whilst/basics/host_device.hpp"
#include "whilst/basics/views.hpp"
#include "whilst/engine/memory/memory.hpp"

namespace whilst {

/// A value that a launch can write to memory of the place: trivially copyable and at most 4096 bytes, that is a number,
/// a pointer or a small struct. Put anything larger into a buffer that a step reads.
template <class T>
concept launch_value = std::is_trivially_copyable_v<T> && !std::is_const_v<T> && sizeof(T) <= 4096 && alignof(T) <= 256;

/// A value in memory of the place that each launch rewrites with what program::set last stored. Maps and finishes read
/// it through the pointer; what they write there lasts until the next launch. Refers to the program; owns nothing.
template <class T>
struct parameter {
  std::size_t first_word = 0;
  T* address = nullptr;
  std::uint64_t owner = 0;  ///< the program's; 0 for none

  T* get() const { return address; }
};

/// A pointer bound when a program is launched, to what program::bind last gave. Maps hold its view, a slot, to which
/// this converts implicitly. Refers to the program; owns nothing.
template <class T>
struct declared_slot {
  parameter<T*> pointer;

  whilst::slot<T> view() const { return {pointer.get()}; }
  operator whilst::slot<T>() const { return view(); }
};

/// Up to 8 bytes of a value and where they go.
struct word_write {
  void* address;
  std::uint64_t value;
  int bytes;

  WHILST_HD void write() const {
    if (bytes == 8 && reinterpret_cast<std::uintptr_t>(address) % 8 == 0) {
      *static_cast<std::uint64_t*>(address) = value;
      return;
    }
    const auto* const source = reinterpret_cast<const unsigned char*>(&value);
    for (int byte = 0; byte < bytes; ++byte) static_cast<unsigned char*>(address)[byte] = source[byte];
  }
};

/// The values that the launches of one program write: the recorder declares them, program::set changes them.
class launch_values {
 public:
  explicit launch_values(place where);
  launch_values(launch_values&&) = default;
  launch_values& operator=(launch_values&&) = default;

  /// Distinguishes this program's handles from others'; never 0.
  std::uint64_t owner() const { return owner_; }
  const std::vector<word_write>& words() const { return words_; }

  /// A value at the caller's address.
  template <launch_value T>
  parameter<T> add(T* address, const T& value) {
    const parameter<T> made{add_words(address, sizeof(T)), address, owner_};
    set_words(made.first_word, &value, sizeof(T));
    return made;
  }
  /// A named value in the program's own memory. Throws whilst::error if the name is taken or empty.
  template <launch_value T>
  parameter<T> add(const std::string& name, const T& value) {
    check_name(name);
    const parameter<T> made = add(static_cast<T*>(memory_for(sizeof(T), alignof(T))), value);
    names_.push_back({name, typeid(T), made.first_word, made.address});
    return made;
  }
  template <class T>
  declared_slot<T> add_slot(const std::string& name) {
    const declared_slot<T> made{add<T*>(name, nullptr)};
    slots_.push_back({name, made.pointer.first_word});
    return made;
  }

  template <launch_value T>
  void set(const parameter<T>& which, const T& value) {
    check_owner(which.owner, "setting a parameter");
    set_words(which.first_word, &value, sizeof(T));
  }
  /// The parameter of that name. Throws whilst::error if there is none or its type differs.
  template <launch_value T>
  parameter<T> find(std::string_view name) const {
    const named& found = find_named(name, typeid(T));
    return {found.first_word, static_cast<T*>(found.address), owner_};
  }
  template <launch_value T>
  bool holds(std::string_view name) const {
    return is_there(name, typeid(T));
  }

  /// Throws whilst::error unless a handle is this program's.
  void check_owner(std::uint64_t owner, std::string_view doing) const;
  /// Throws whilst::error if a slot is unbound.
  void check_slots() const;

 private:
  struct named {
    std::string name;
    std::type_index type;
    std::size_t first_word;
    void* address;
  };
  std::size_t add_words(void* address, std::size_t bytes);
  void set_words(std::size_t first, const void* value, std::size_t bytes);
  void* memory_for(std::size_t bytes, std::size_t alignment);
  void check_name(const std::string& name) const;
  bool is_there(std::string_view name, std::type_index type) const;
  const named& find_named(std::string_view name, std::type_index type) const;

  place where_;
  std::uint64_t owner_;
  std::vector<word_write> words_;
  std::vector<named> names_;
  std::vector<std::pair<std::string, std::size_t>> slots_;  ///< name and word
  std::vector<raw_buffer> memory_;
  std::size_t used_ = 0;  ///< of the last buffer
};

}  // namespace whilst
