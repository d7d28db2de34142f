#pragma once

#include <string_view>

/// The names of methods, as types: what the classes of adapters are told apart by.
namespace whilst::methods {

struct cg {
  static constexpr std::string_view name = "cg";
};
struct minres {
  static constexpr std::string_view name = "minres";
};
struct bicgstab {
  static constexpr std::string_view name = "bicgstab";
};
struct bicgstabl {
  static constexpr std::string_view name = "bicgstabl";
};
struct idr {
  static constexpr std::string_view name = "idr";
};
struct gmres {
  static constexpr std::string_view name = "gmres";
};
struct cgls {
  static constexpr std::string_view name = "cgls";
};
/// The one that the options name; without a name "auto".
struct any {
  static constexpr std::string_view name = "auto";
};

}  // namespace whilst::methods
