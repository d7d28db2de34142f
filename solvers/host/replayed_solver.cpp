#include "whilst/host/replayed_solver.hpp"

#include <utility>

#include "whilst/host/prepared_program.hpp"

namespace whilst {

void recorded_solver::set_max_iterations(index_type limit) { prepared().set_max_iterations(limit); }
void recorded_solver::set_deadline(double seconds) { prepared().set_deadline(seconds); }
void recorded_solver::cancel() {
  for (const prepared_program* cancelled = nullptr; cancelled != &running();) {
    prepared_program& now = running();
    now.desk().cancel_all();
    cancelled = &now;  // another one may have taken over meanwhile
  }
}
progress replayed_solver::progress() const { return running().desk().progress(); }
void replayed_solver::set_monitor(std::function<void(const whilst::progress&)> monitor) {
  prepared().desk().set_monitor(std::move(monitor));
}
std::string recorded_solver::explain() const { return prepared().desk().recorded().explain(); }
std::string recorded_solver::dot() const { return prepared().desk().recorded().dot(); }
std::string recorded_solver::json() const { return prepared().desk().recorded().json(); }
memory_table recorded_solver::memory() const { return prepared().desk().recorded().memory(); }
const std::string& recorded_solver::executor() const { return prepared().desk().common.executor; }

}  // namespace whilst
