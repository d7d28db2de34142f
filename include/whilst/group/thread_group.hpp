#pragma once

#include <vector>

#include "whilst/group/group.hpp"

namespace whilst {

/// Groups for threads of this process: hand the q-th to the thread that is rank q, by a move, so that it ends with the
/// thread. A rank that has destroyed the last copy of its group has left: the others' calls that would wait for it
/// throw whilst::error. Throws whilst::error for a size below 1.
std::vector<group> make_thread_groups(int size);

}  // namespace whilst
