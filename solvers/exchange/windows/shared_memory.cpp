// Processes of one machine on the host, by POSIX shared memory.
#include <memory>

#include "solvers/exchange/windows/named_memory.hpp"
#include "solvers/exchange/windows/transport.hpp"

namespace whilst::windows {
namespace {

class transport_of_processes final : public transport {
 public:
  explicit transport_of_processes(const ranks_known& known) : known_(known) {}
  void open(memory_seen& made) const override {
    made.own_is_of_host = true;
    std::unique_ptr<named_memory> named;  // its name is there until all have opened it
    open_doors<named_memory::name_text>(
        known_, made,
        [&] {
          named = named_memory::made(made.bytes);
          made.own = named->memory();
          return named->name();
        },
        [](std::size_t, const named_memory::name_text& name, std::size_t bytes) {
          return named_memory::opened(name, bytes);
        },
        [](std::size_t, const std::shared_ptr<void>& piece) { return piece.get(); });
  }

 private:
  ranks_known known_;
};

}  // namespace

const transport_kind by_shared_memory{
    .name = "shared memory",
    .is_for_gpus = false,
    .is_automatic = true,
    .why_not = [](const ranks_known&) -> std::string { return ""; },
    .make = [](const ranks_known& known) -> std::unique_ptr<transport> {
      return std::make_unique<transport_of_processes>(known);
    },
    .why_not_here = always_here,
};

}  // namespace whilst::windows
