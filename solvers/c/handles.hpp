#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <typeindex>
#include <utility>

#include "whilst/basics/error.hpp"
#include "whilst/whilst.h"

/// What all functions of the C interface share: handles, and exceptions that become a status.
namespace whilst::c {

/// A callback of the caller's returned a number other than 0.
class callback_failed : public error {
 public:
  using error::error;
};

/// Runs the work of a function of the interface. What it throws becomes the thread's last error, and the status.
whilst_status guarded(const char* function, const std::function<void()>& work) noexcept;

/// Handles are numbers in the clothes of pointers, never used twice: what was destroyed, is no handle, or is one of
/// another kind is not found. What is found lives as long as the caller holds it.
namespace handles {
std::uintptr_t add(std::shared_ptr<void> what, std::type_index kind);
/// Null where there is none of this kind.
std::shared_ptr<void> find(std::uintptr_t handle, std::type_index kind);
std::shared_ptr<void> remove(std::uintptr_t handle, std::type_index kind);
}  // namespace handles

[[noreturn]] void refuse(const std::string& problem, const std::string& cure);
/// Throws where an argument is NULL.
template <class Pointer>
Pointer given(Pointer argument, const char* name) {
  if (!argument) refuse(std::string(name) + " is NULL", "Pass what the header asks for");
  return argument;
}

/// Content behind a handle of type Handle, which is declared in whilst.h and never defined.
template <class Content, class Handle>
std::shared_ptr<Content> content_of(const Handle* handle, const char* name) {
  given(handle, name);
  auto found = handles::find(reinterpret_cast<std::uintptr_t>(handle), typeid(Content));
  if (!found)
    refuse(std::string(name) + " is no handle of this kind, or was destroyed",
           "Pass one that its function made and that is not yet destroyed");
  return std::static_pointer_cast<Content>(std::move(found));
}

template <class Content, class Handle>
void make_handle(std::shared_ptr<Content> content, Handle** handle) {
  *handle = reinterpret_cast<Handle*>(handles::add(std::move(content), typeid(Content)));
}

/// For a function that makes a handle: NULL unless the work succeeds.
template <class Handle>
whilst_status guarded_making(const char* function, Handle** handle, const char* name,
                             const std::function<void()>& work) {
  return guarded(function, [&] {
    *given(handle, name) = nullptr;
    work();
  });
}

template <class Content, class Handle>
whilst_status destroy(const char* function, Handle** handle, const char* name,
                      const std::function<void(const std::shared_ptr<Content>&)>& before = {}) {
  return guarded(function, [&] {
    if (!*given(handle, name)) return;
    const auto content = content_of<Content>(*handle, name);
    if (before) before(content);
    handles::remove(reinterpret_cast<std::uintptr_t>(*handle), typeid(Content));
    *handle = nullptr;
  });
}

/// Has `use` called with a float or a double, as `number` says.
template <class Use>
auto with_number(whilst_number number, const Use& use) {
  if (number == WHILST_FLOAT) return use(float());
  if (number == WHILST_DOUBLE) return use(double());
  refuse("number is " + std::to_string(static_cast<int>(number)), "Pass WHILST_FLOAT or WHILST_DOUBLE");
}

inline std::string text_of(const char* text) { return text ? text : ""; }

}  // namespace whilst::c
