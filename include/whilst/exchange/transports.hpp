#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace whilst {

/// What the ranks of a group can exchange by, on this machine or another, in the order in which "auto" tries them:
/// those of the host, then those of GPUs, of which "nccl windows" is left to who asks for it.
std::vector<std::string> transport_names();
/// Throws whilst::error unless a transport has that name, with spaces or hyphens, or it is "auto". doing: opens the
/// message.
void check_transport(std::string_view doing, const std::string& name);

}  // namespace whilst
