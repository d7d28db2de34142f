#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "solvers/c/objects.hpp"
#include "whilst/group/thread_group.hpp"

namespace whilst::c {
namespace {

std::shared_ptr<group> group_behind(const whilst_group* handle) { return content_of<group>(handle, "group"); }

void make_group_handle(whilst_group** handle, group made) {
  make_handle<group>(std::make_shared<group>(std::move(made)), handle);
}

/// The caller's callback and what it works with, given back with the last copy of the group.
struct gathering {
  whilst_all_gather gather;
  void* user;
  whilst_release release;
  gathering(whilst_all_gather of, void* with, whilst_release after) : gather(of), user(with), release(after) {}
  gathering(const gathering&) = delete;
  gathering& operator=(const gathering&) = delete;
  ~gathering() {
    if (release) release(user);
  }
};

}  // namespace
}  // namespace whilst::c

extern "C" {

whilst_status whilst_group_create(int rank, int size, whilst_all_gather gather, void* user, whilst_release release,
                                  whilst_group** group) {
  using namespace whilst::c;
  const auto kept = std::make_shared<gathering>(gather, user, release);
  return guarded_making(__func__, group, "group", [&] {
    given(gather, "gather");
    make_group_handle(
        group, {rank, size,
                [kept](std::span<const std::byte> mine, std::span<const std::size_t> sizes, std::span<std::byte> all) {
                  const std::vector<std::int64_t> counted(sizes.begin(), sizes.end());
                  check_callback("gather", kept->gather(kept->user, mine.data(), counted.data(),
                                                        static_cast<int>(sizes.size()), all.data()));
                }});
  });
}

whilst_status whilst_group_create_threads(int size, whilst_group** groups) {
  using namespace whilst::c;
  return guarded(__func__, [&] {
    given(groups, "groups");
    for (int rank = 0; rank < size; ++rank) groups[rank] = nullptr;
    int rank = 0;
    for (whilst::group& one : whilst::make_thread_groups(size)) make_group_handle(&groups[rank++], std::move(one));
  });
}

whilst_status whilst_group_size(const whilst_group* group, int* rank, int* size) {
  using namespace whilst::c;
  return guarded(__func__, [&] {
    const auto found = group_behind(group);
    if (rank) *rank = found->rank();
    if (size) *size = found->size();
  });
}

whilst_status whilst_group_barrier(const whilst_group* group) {
  using namespace whilst::c;
  return guarded(__func__, [&] { group_behind(group)->barrier(); });
}

whilst_status whilst_group_fail(const whilst_group* group, const char* message) {
  using namespace whilst::c;
  return guarded(__func__, [&] { group_behind(group)->fail(text_of(message)); });
}

whilst_status whilst_group_destroy(whilst_group** group) {
  return whilst::c::destroy<whilst::group>(__func__, group, "group");
}
}
