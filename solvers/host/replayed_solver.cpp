#include "whilst/host/replayed_solver.hpp"

#include <utility>

#include "whilst/host/launches.hpp"

namespace whilst {

void replayed_solver::set_max_iterations(index_type limit) { prepared().set_max_iterations(limit); }
void replayed_solver::set_deadline(double seconds) { prepared().set_deadline(seconds); }
void replayed_solver::cancel() { prepared().desk().cancel_all(); }
progress replayed_solver::progress() const { return prepared().desk().progress(); }
void replayed_solver::set_monitor(std::function<void(const whilst::progress&)> monitor) {
  prepared().desk().set_monitor(std::move(monitor));
}
std::string replayed_solver::explain() const { return prepared().desk().recorded().explain(); }
std::string replayed_solver::dot() const { return prepared().desk().recorded().dot(); }
std::string replayed_solver::json() const { return prepared().desk().recorded().json(); }
memory_table replayed_solver::memory() const { return prepared().desk().recorded().memory(); }
const std::string& replayed_solver::executor() const { return prepared().desk().common.executor; }

}  // namespace whilst
