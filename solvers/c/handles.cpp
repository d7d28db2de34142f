#include "solvers/c/handles.hpp"

#include <mutex>
#include <new>
#include <unordered_map>

#include "whilst/host/machine.hpp"
#include "whilst/version.hpp"

namespace whilst::c {
namespace {

struct live_handle {
  std::shared_ptr<void> what;
  std::type_index kind;
};

struct all_handles {
  std::mutex lock;
  std::unordered_map<std::uintptr_t, live_handle> live;
  std::uintptr_t last = 0;
};
/// Never destroyed: a handle may be used by destructors of the caller's when the process ends.
all_handles& every_handle() {
  static all_handles* const all = new all_handles;
  return *all;
}

/// This thread's text; null once that has been destroyed, as destructors that run after it may find.
std::string* thread_error() {
  thread_local bool has_ended = false;  // lives as long as the thread
  struct kept {
    bool& ended;
    std::string text{};
    ~kept() { ended = true; }
  };
  if (has_ended) return nullptr;
  thread_local kept error{has_ended};
  return &error.text;
}

whilst_status note_failure(const char* function, const char* text, whilst_status status) noexcept {
  std::string* const noted = thread_error();
  if (!noted) return status;
  try {
    *noted = std::string(function) + ": " + text;
  } catch (...) {
    noted->clear();
  }
  return status;
}

}  // namespace

std::uintptr_t handles::add(std::shared_ptr<void> what, std::type_index kind) {
  all_handles& all = every_handle();
  const std::scoped_lock locked(all.lock);
  all.last += 16;  // aligned as an address would be
  all.live.emplace(all.last, live_handle{std::move(what), kind});
  return all.last;
}

std::shared_ptr<void> handles::find(std::uintptr_t handle, std::type_index kind) {
  all_handles& all = every_handle();
  const std::scoped_lock locked(all.lock);
  const auto found = all.live.find(handle);
  return found == all.live.end() || found->second.kind != kind ? nullptr : found->second.what;
}

std::shared_ptr<void> handles::remove(std::uintptr_t handle, std::type_index kind) {
  all_handles& all = every_handle();
  const std::scoped_lock locked(all.lock);
  const auto found = all.live.find(handle);
  if (found == all.live.end() || found->second.kind != kind) return nullptr;
  std::shared_ptr<void> what = std::move(found->second.what);
  all.live.erase(found);
  return what;  // released by the caller, without the lock
}

void refuse(const std::string& problem, const std::string& cure) { throw error(problem + ". " + cure); }

whilst_status guarded(const char* function, const std::function<void()>& work) noexcept {
  try {
    work();
    return WHILST_OK;
  } catch (const callback_failed& failure) {
    return note_failure(function, failure.what(), WHILST_CALLBACK_FAILED);
  } catch (const out_of_memory& failure) {
    return note_failure(function, failure.what(), WHILST_OUT_OF_MEMORY);
  } catch (const std::bad_alloc&) {
    return note_failure(function, "there is not enough memory of the host", WHILST_OUT_OF_MEMORY);
  } catch (const error& failure) {
    return note_failure(function, failure.what(), WHILST_ERROR);
  } catch (const std::exception& failure) {
    return note_failure(function, failure.what(), WHILST_INTERNAL_ERROR);
  } catch (...) {
    return note_failure(function, "something was thrown that is no std::exception", WHILST_INTERNAL_ERROR);
  }
}

}  // namespace whilst::c

extern "C" {

const char* whilst_version(void) { return whilst::version; }

const char* whilst_last_error(void) {
  const std::string* const noted = whilst::c::thread_error();
  return noted ? noted->c_str() : "";
}

whilst_status whilst_executor_available(const char* executor, int device, int* available) {
  using namespace whilst::c;
  return guarded(__func__, [&] {
    const std::string name = given(executor, "executor");
    *given(available, "available") = 0;
    for (const auto& one : whilst::describe_machine(device).executors)
      if (one.name == name) {
        *available = one.available;
        return;
      }
    refuse("there is no executor '" + name + "'", "Use host, stream, graph, resident or batch");
  });
}
}
