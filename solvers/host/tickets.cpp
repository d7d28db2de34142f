#include "whilst/basics/held.hpp"
#include "whilst/host/columns_report.hpp"
#include "whilst/host/launches.hpp"

namespace whilst {
namespace {

const ticket::state& there(const std::shared_ptr<ticket::state>& state) {
  if (!state) detail::refuse_moved_from("ticket");
  return *state;
}
launch_desk& desk_of(const std::shared_ptr<ticket::state>& state) {
  if (launch_desk* const desk = there(state).desk) return *desk;
  throw error("using a ticket", "its solver was destroyed", "Keep a solver as long as you ask its tickets");
}

}  // namespace

whilst::progress ticket::progress() const { return desk_of(state_).progress(); }
void ticket::cancel() const { desk_of(state_).cancel(*state_); }
bool ticket::done() const { return desk_of(state_).is_done(*state_); }
report ticket::wait() const {
  launch_desk& desk = desk_of(state_);
  desk.wait(*state_);
  return desk.report_of(*state_);
}
const solve_outcome* ticket::outcome() const { return there(state_).target(); }

void batch_ticket::cancel() const { desk_of(state_).cancel(*state_); }
bool batch_ticket::done() const { return desk_of(state_).is_done(*state_); }
batch_report batch_ticket::wait() const {
  launch_desk& desk = desk_of(state_);
  desk.wait(*state_);
  return desk.batch_report_of(*state_);
}

void columns_ticket::cancel() const { desk_of(state_).cancel(*state_); }
bool columns_ticket::done() const { return desk_of(state_).is_done(*state_); }
columns_report columns_ticket::wait() const {
  launch_desk& desk = desk_of(state_);
  desk.wait(*state_);
  auto [fields, columns] = desk.outcomes_of(*state_);
  return {std::move(fields), std::move(columns)};
}

}  // namespace whilst
