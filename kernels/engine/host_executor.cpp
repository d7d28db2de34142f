#include "kernels/engine/executors.hpp"

namespace whilst {

void run_one_on_host(const operation& op) {
  if (op.what == operation::kind::call) {
    op.node->call(nullptr);
    return;
  }
  op.step->run_on_host(op.frame.links.loop, op.host_threads);
  op.frame.links.follow(op.frame.links.wish().verdict());
}

void run_on_host(const std::vector<operation>& operations, const operation_runner& run, const trip_listener& listener) {
  for (const operation& op : operations) {
    switch (op.what) {
      case operation::kind::step:
        if (!op.frame.guard || *op.frame.guard) run(op);
        break;
      case operation::kind::call:
        run(op);
        break;
      case operation::kind::loop:
        while (op.loop->running) {
          run_on_host(op.body, run, listener);
          if (op.loop == listener.loop) listener.tell(*op.loop);
        }
        break;
      case operation::kind::branch:
        if (*op.flag && (!op.guard || *op.guard)) run_on_host(op.body, run, listener);
        break;
      case operation::kind::select:
        if (const std::size_t chosen = op.choice(*op.flag); chosen < op.bodies.size() && (!op.guard || *op.guard))
          run_on_host(op.bodies[chosen], run, listener);
        break;
      case operation::kind::parallel:
        for (const std::vector<operation>& body : op.bodies) run_on_host(body, run, listener);
        break;
    }
  }
}

}  // namespace whilst
