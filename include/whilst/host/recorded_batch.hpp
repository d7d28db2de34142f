#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "whilst/basics/held.hpp"
#include "whilst/engine/memory/pointer_check.hpp"
#include "whilst/engine/recorder.hpp"
#include "whilst/engine/runs_in_flight.hpp"
#include "whilst/engine/steps/resident.hpp"
#include "whilst/host/batch_desk.hpp"
#include "whilst/host/machine.hpp"
#include "whilst/host/replayed_solver.hpp"

namespace whilst::detail {

/// Records the step that runs all problems of a batch, with some lanes of a warp or a block each.
template <class Problems>
void record_problems(recorder& record, const char* name, index_type count, const Problems& problems, int lanes) {
  if (lanes <= 32) {
    record.step(name, count, problems_by_lanes<Problems>{problems, lanes});
  } else {
    record.team(name, count, problems_by_block<Problems>{problems, lanes, problems.fast_memory_bytes()});
  }
}

/// A recorded batch of problems with n unknowns each: the common part of the public batch classes. Outcome says how one
/// problem ended, Report is a batch_outcomes of them.
template <class T, class Outcome, class Report>
class recorded_batch {
 public:
  recorded_batch(const batch_settings& settings)
      : began_(std::chrono::steady_clock::now()),
        desk_("batch", std::make_unique<batch_desk>(settings)),
        outcomes_(desk_->where(), settings.problems) {}

  place where() const { return desk_->where(); }
  const batch_desk& desk() const { return *desk_; }
  const batch_frame* frame() const { return desk_->frame().data(); }
  Outcome* outcomes() const { return outcomes_.data(); }
  index_type problems() const { return outcomes_.size(); }
  int lanes() const { return common_.lanes; }
  const std::string& executor() const { return common_.executor; }

  /// Call once: `step(record)` records the step that runs the problems, with `lanes` threads each.
  template <class Step>
  void record(const std::string& method, index_type unknowns, int lanes, const Step& step) {
    n_ = unknowns;
    batch_frame* const frame = desk_->frame().data();
    program_recorder record(where());
    x_ = record.parameter<void*>(&frame->x, nullptr);
    launch_ = record.parameter<std::uint64_t>(&frame->root.settings.launch, 0);
    deadline_ = record.parameter<std::uint64_t>(&frame->root.settings.deadline_nanoseconds,
                                                nanoseconds_of_deadline(desk_->deadline()));
    record.once("the batch begins", batch_begins{&frame->root});
    step(record);
    record.once("the batch ends", batch_ends{&frame->root});
    program_.reset(std::make_unique<program>(std::move(record).finish()));
    program_->prepare(
        {.how = where().on_host() ? whilst::executor::host : whilst::executor::stream, .threads = desk_->threads()});
    common_.method = method;
    common_.lanes = lanes;
    common_.executor = where().on_host() ? "host" : "batch";
    common_.precision = sizeof(T) == 4 ? "float" : "double";
    common_.device = name_of_processor(where());
    common_.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  Report solve(std::span<T> x) {
    desk_->require_context("solving a batch");  // before allocating in another context
    const index_type entries = problems() * n_;
    if (static_cast<index_type>(x.size()) != entries)
      throw error("solving a batch",
                  std::to_string(problems()) + " problems of " + std::to_string(n_) + " unknowns have " +
                      std::to_string(entries) + ", and x has " + std::to_string(x.size()) + " entries",
                  "Make both agree");
    const turns::turn mine = program_->enter("solving a batch");
    if (where().on_host()) {
      launch(nullptr, x.data());
      return wait();
    }
    if (x_on_gpu_.size() != entries) x_on_gpu_ = buffer<T>(where(), entries);
    const no_run_left_behind guard(*program_);
    x_on_gpu_.upload(x.data());
    launch(nullptr, x_on_gpu_.data());
    Report result = wait();
    x_on_gpu_.download(x.data());
    return result;
  }

  void enqueue(stream_handle stream, T* x) {
    desk_->require_context("enqueueing a batch");
    require_usable("enqueueing a batch", where(), {{"x", x}}, {desk_->checks_pointers(), stream});
    launch(stream, x);
  }

 private:
  void launch(stream_handle stream, T* x) {
    const turns::turn mine = program_->enter("enqueueing a batch");
    program_->set(x_, static_cast<void*>(x));
    program_->set(launch_, desk_->begin_launch());
    program_->enqueue(stream);
  }

 public:
  Report wait() {
    const turns::turn mine = program_->enter("waiting for a batch");
    program_->wait();
    std::vector<Outcome> outcomes(static_cast<std::size_t>(problems()));
    outcomes_.download(outcomes.data());
    batch_frame frame;
    desk_->frame().download(&frame);
    report_fields common = common_;
    common.solve_seconds = 1e-9 * static_cast<double>(frame.root.stopped_at - frame.root.started_at);
    return {std::move(common), std::move(outcomes)};
  }

  void cancel() { desk_->cancel(); }
  void set_deadline(double seconds) {
    check_deadline("setting the options of a batch", seconds);
    program_->set(deadline_, nanoseconds_of_deadline(seconds));
  }
  std::string explain() const { return program_->explain(); }

 private:
  std::chrono::steady_clock::time_point began_;
  held<batch_desk> desk_;
  index_type n_ = 1;
  buffer<Outcome> outcomes_;
  buffer<T> x_on_gpu_;  ///< for solves from host memory
  parameter<void*> x_;
  parameter<std::uint64_t> launch_, deadline_;
  held<program> program_{"batch"};  ///< after all it refers to: its destructor waits for its runs
  report_fields common_;
};

}  // namespace whilst::detail
