#include "kernels/launch/executors.hpp"

namespace whilst {

void run_on_host(const std::vector<operation>& operations) {
  for (const operation& op : operations) {
    switch (op.what) {
      case operation::kind::step:
        if (op.frame.guard && !*op.frame.guard) break;
        op.step->run_on_host(op.frame.links.loop);
        op.frame.links.follow(op.frame.links.wish());
        break;
      case operation::kind::call:
        op.node->call(nullptr);
        break;
      case operation::kind::loop:
        while (op.loop->running) run_on_host(op.body);
        break;
      case operation::kind::branch:
        if (*op.flag && (!op.guard || *op.guard)) run_on_host(op.body);
        break;
      case operation::kind::select:
        if (const std::size_t chosen = op.choice(*op.flag); chosen < op.bodies.size() && (!op.guard || *op.guard))
          run_on_host(op.bodies[chosen]);
        break;
      case operation::kind::parallel:
        for (const std::vector<operation>& body : op.bodies) run_on_host(body);
        break;
    }
  }
}

}  // namespace whilst
