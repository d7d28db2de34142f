#include <limits>

#include "solvers/c/objects.hpp"

namespace whilst::c {
namespace {

std::shared_ptr<any_solver> solver_behind(const whilst_solver* handle) {
  return content_of<any_solver>(handle, "solver");
}

/// A ticket, and its solver for as long as it is asked.
struct asked_ticket {
  std::shared_ptr<ticket_content> content;
  std::shared_ptr<any_solver> solver;

  explicit asked_ticket(const whilst_ticket* ticket)
      : content(content_of<ticket_content>(ticket, "ticket")), solver(content->solver.lock()) {
    if (!solver) refuse("the solver that made it was destroyed", "Keep the solver until its tickets are done");
  }
};

std::int64_t bytes_where(const memory_table& table, bool on_host) {
  std::int64_t sum = 0;
  for (const memory_item& item : table.items)
    if (item.kept != lifetime::borrowed && (item.where.rfind("the host", 0) == 0) == on_host)
      sum += static_cast<std::int64_t>(item.bytes);
  return sum;
}

std::string text_about(any_solver& solver, whilst_solver_text_kind what) {
  switch (what) {
    case WHILST_SOLVER_EXECUTOR:
      return solver.recorded().executor();
    case WHILST_SOLVER_MEMORY:
      return solver.memory().text();
    case WHILST_SOLVER_PROGRAM:
      return solver.explain();
    case WHILST_SOLVER_TRANSPORT:
      return solver.transport();
  }
  refuse("there is no text " + std::to_string(static_cast<int>(what)), "Use those of whilst_solver_text_kind");
}

}  // namespace

void any_solver::update_values(given_vector) {
  refuse("the solver was not made from a matrix", "Have your callback read other values");
}
void any_solver::bind_values(const void*) {
  refuse("the solver is no linear solver of one right-hand side", "Use whilst_solver_update_values");
}
replayed_solver& any_solver::replayed() {
  refuse("a solve of several columns has no progress to watch", "Look at its report, or solve one column");
}

namespace {
[[noreturn]] void refuse_one_rank() {
  refuse("the solver is not for several ranks",
         "Make one with whilst_distributed_solver_create or whilst_distributed_minimizer_create");
}
}  // namespace
std::string any_solver::transport() const { refuse_one_rank(); }
int any_solver::lost_rank() const { refuse_one_rank(); }
void any_solver::recover() { refuse_one_rank(); }

void check_length(const given_vector& vector, index_type expected) {
  if (vector.length != expected)
    refuse(std::string(vector.name) + " has " + std::to_string(vector.length) + " entries, and the solver needs " +
               std::to_string(expected),
           "Pass an array of that many and its length");
  if (expected > 0) given(vector.data, vector.name);
}

void check_no_b(const given_vector& b) {
  if (b.data || b.length != 0) refuse("this solver has no right-hand side", "Pass NULL as b, and 0 as its length");
}

void check_callback(const char* name, int returned) {
  if (returned != 0)
    throw callback_failed(std::string("the callback ") + name + " returned " + std::to_string(returned) +
                          ". 0 means that it went well");
}

bool is_host(whilst_memory memory) {
  if (memory != WHILST_HOST && memory != WHILST_DEVICE)
    refuse("memory is " + std::to_string(static_cast<int>(memory)), "Pass WHILST_HOST or WHILST_DEVICE");
  return memory == WHILST_HOST;
}

void make_solver_handle(whilst_solver** handle, std::shared_ptr<any_solver> solver) {
  make_handle<any_solver>(std::move(solver), handle);
}

}  // namespace whilst::c

extern "C" {

whilst_status whilst_solve(whilst_solver* solver, const void* b, int64_t b_length, void* x, int64_t x_length,
                           whilst_report** report) {
  using namespace whilst::c;
  return guarded(__func__, [&] {
    if (report) *report = nullptr;
    make_report_handle(report, solver_behind(solver)->solve({"b", b, b_length}, {"x", x, x_length}));
  });
}

whilst_status whilst_enqueue(whilst_solver* solver, void* stream, const void* b, void* x, whilst_ticket** ticket) {
  using namespace whilst::c;
  return guarded_making(__func__, ticket, "ticket", [&] {
    const std::shared_ptr<any_solver> behind = solver_behind(solver);
    auto enqueued = behind->enqueue(static_cast<whilst::stream_handle>(stream), b, x);
    enqueued.solver = behind;
    make_handle(std::make_shared<ticket_content>(std::move(enqueued)), ticket);
  });
}

whilst_status whilst_solver_update_values(whilst_solver* solver, const void* values, int64_t length) {
  using namespace whilst::c;
  return guarded(__func__, [&] { solver_behind(solver)->update_values({"values", values, length}); });
}

whilst_status whilst_solver_bind_values(whilst_solver* solver, const void* values) {
  using namespace whilst::c;
  return guarded(__func__, [&] { solver_behind(solver)->bind_values(given(values, "values")); });
}

whilst_status whilst_solver_set_tolerances(whilst_solver* solver, double rtol, double atol) {
  using namespace whilst::c;
  return guarded(__func__, [&] { solver_behind(solver)->set_tolerances(rtol, atol); });
}

whilst_status whilst_solver_set_max_iterations(whilst_solver* solver, int64_t limit) {
  using namespace whilst::c;
  return guarded(__func__, [&] { solver_behind(solver)->recorded().set_max_iterations(limit); });
}

whilst_status whilst_solver_set_deadline(whilst_solver* solver, double seconds) {
  using namespace whilst::c;
  return guarded(__func__, [&] { solver_behind(solver)->recorded().set_deadline(seconds); });
}

whilst_status whilst_solver_set_monitor(whilst_solver* solver, whilst_monitor monitor, void* user) {
  using namespace whilst::c;
  return guarded(__func__, [&] {
    whilst::replayed_solver& watched = solver_behind(solver)->replayed();
    if (!monitor) return watched.set_monitor({});
    watched.set_monitor([&watched, monitor, user](const whilst::progress& now) {
      if (monitor(user, now.iteration, now.residual_norm) != 0) watched.cancel();
    });
  });
}

whilst_status whilst_solver_cancel(whilst_solver* solver) {
  using namespace whilst::c;
  return guarded(__func__, [&] { solver_behind(solver)->recorded().cancel(); });
}

whilst_status whilst_solver_progress(whilst_solver* solver, int64_t* iteration, double* residual_norm, int* running) {
  using namespace whilst::c;
  return guarded(__func__, [&] {
    const whilst::progress now = solver_behind(solver)->replayed().progress();
    if (iteration) *iteration = now.iteration;
    if (residual_norm) *residual_norm = now.residual_norm;
    if (running) *running = now.running;
  });
}

whilst_status whilst_solver_bytes(whilst_solver* solver, int64_t* host_bytes, int64_t* gpu_bytes) {
  using namespace whilst::c;
  return guarded(__func__, [&] {
    const whilst::memory_table table = solver_behind(solver)->memory();
    if (host_bytes) *host_bytes = bytes_where(table, true);
    if (gpu_bytes) *gpu_bytes = bytes_where(table, false);
  });
}

const char* whilst_solver_text(whilst_solver* solver, whilst_solver_text_kind what) {
  using namespace whilst::c;
  thread_local std::string text;
  const whilst_status status = guarded(__func__, [&] { text = text_about(*solver_behind(solver), what); });
  return status == WHILST_OK ? text.c_str() : nullptr;
}

whilst_status whilst_solver_lost_rank(whilst_solver* solver, int* rank) {
  using namespace whilst::c;
  return guarded(__func__, [&] { *given(rank, "rank") = solver_behind(solver)->lost_rank(); });
}

whilst_status whilst_solver_recover(whilst_solver* solver) {
  using namespace whilst::c;
  return guarded(__func__, [&] { solver_behind(solver)->recover(); });
}

whilst_status whilst_solver_destroy(whilst_solver** solver) {
  return whilst::c::destroy<whilst::c::any_solver>(__func__, solver, "solver");
}

whilst_status whilst_ticket_wait(const whilst_ticket* ticket, whilst_report** report) {
  using namespace whilst::c;
  return guarded(__func__, [&] {
    if (report) *report = nullptr;
    make_report_handle(report, asked_ticket(ticket).content->wait());
  });
}

whilst_status whilst_ticket_done(const whilst_ticket* ticket, int* done) {
  using namespace whilst::c;
  return guarded(__func__, [&] { *given(done, "done") = asked_ticket(ticket).content->done(); });
}

whilst_status whilst_ticket_cancel(const whilst_ticket* ticket) {
  using namespace whilst::c;
  return guarded(__func__, [&] { asked_ticket(ticket).content->cancel(); });
}

whilst_status whilst_ticket_destroy(whilst_ticket** ticket) {
  return whilst::c::destroy<whilst::c::ticket_content>(__func__, ticket, "ticket");
}
}
