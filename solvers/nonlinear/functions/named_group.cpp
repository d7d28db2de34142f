#include "whilst/nonlinear/functions/named_group.hpp"

namespace whilst::detail {

named_group::named_group(const char* name) : name_(name) {}
named_group::~named_group() = default;

std::string named_group::title(const char* what) const { return what + name_; }

}  // namespace whilst::detail
