// Threads of one process on the host, which have its memory in common.
#include <memory>
#include <string>

#include "solvers/exchange/windows/transport.hpp"

namespace whilst::windows {
namespace {

struct no_name {};

class transport_of_threads final : public transport {
 public:
  explicit transport_of_threads(const ranks_known& known) : known_(known) {}
  void open(memory_seen& made) const override {
    made.own_is_of_host = true;
    open_doors<no_name>(
        known_, made,
        [&] {
          made.own = own_memory(place::host(), made.bytes);
          return no_name{};
        },
        [](std::size_t, const no_name&, std::size_t) { return std::shared_ptr<void>(); },
        [](std::size_t, const std::shared_ptr<void>& piece) { return piece.get(); });
  }

 private:
  ranks_known known_;
};

}  // namespace

const transport_kind between_threads{
    .name = "threads",
    .is_for_gpus = false,
    .is_automatic = true,
    .why_not = [](const ranks_known& known) -> std::string {
      return known.are_one_process() ? "" : "the ranks are several processes";
    },
    .make = [](const ranks_known& known) -> std::unique_ptr<transport> {
      return std::make_unique<transport_of_threads>(known);
    },
    .why_not_here = always_here,
};

}  // namespace whilst::windows
