#include "whilst/host/prepared_program.hpp"

#include <utility>

#include "solvers/host/deadline.hpp"
#include "whilst/basics/error.hpp"
#include "whilst/engine/memory/pointer_check.hpp"
#include "whilst/engine/steps/host_threads.hpp"

namespace whilst {
namespace {

bool is_kernel_of_its_own(executor how) { return how == executor::batch || how == executor::resident; }

}  // namespace

void loop_options::check(std::string_view doing) const {
  const auto refuse = [&](const std::string& what, const std::string& cure) { throw error(doing, what, cure); };
  if (max_iterations < 0) refuse("max_iterations is " + std::to_string(max_iterations), "Give 0 or more");
  if (!(deadline > 0)) refuse("the deadline is not above 0", "Give seconds, or infinity for none");
  if (unroll < 0 || unroll > 1024)
    refuse("unroll is " + std::to_string(unroll), "Give 1 to 1024, or 0 to have it chosen");
  if (history_capacity < 0 || history_capacity % 2)
    refuse("history_capacity is " + std::to_string(history_capacity), "Give an even number, or 0 for no history");
  check_host_threads(std::string(doing), threads);
}

prepared_program::prepared_program(std::unique_ptr<program> recorded, const description& what,
                                   const loop_options& options)
    : program_(std::move(recorded)),
      options_(options),
      b_bytes_(what.b_bytes),
      x_bytes_(what.x_bytes),
      touched_once_(what.inner != nullptr),
      desk_(*program_, what.systems, what.outer, what.inner, what.inner ? options.history_capacity : 0,
            what.outcome_bytes) {
  const place where = program_->where();
  const bool in_kernel = is_kernel_of_its_own(what.how);
  program_->prepare({.how = where.on_host() ? executor::host
                            : in_kernel     ? executor::stream
                                            : what.how,
                     .unroll = options.unroll,
                     .usual_unroll = what.usual_unroll,
                     .programmatic_launch = options.programmatic_launch,
                     .threads = options.threads});
  if (where.on_host()) host_bytes_ = static_cast<index_type>(program_->memory().bytes(name_of(where)));
  desk_.describe(what.in_float, what.rows, what.began);
  report_fields& common = desk_.common;
  common.method = what.method;
  common.preconditioner = what.preconditioner;
  common.nonzeros = what.nonzeros;
  common.lanes = what.lanes;
  if (in_kernel) common.executor = name(what.how);
}

control_settings prepared_program::root_settings(const ticket::state& of) const {
  control_settings made;
  made.limit = options_.max_iterations;
  made.deadline_nanoseconds = nanoseconds_of(options_.deadline);
  made.launch = of.number;
  return made;
}

std::shared_ptr<ticket::state> prepared_program::enqueue(CUstream_st* stream, const void* b, void* x) {
  const std::string_view doing = "enqueueing a solve";
  const turns::turn mine = enter(doing);
  require_vectors(doing, stream, b, x);
  return launch(stream, b, x);
}

void prepared_program::require_vectors(std::string_view doing, CUstream_st* stream, const void* b,
                                       const void* x) const {
  desk_.require_context(doing);  // the pointers of a destroyed one are unknown
  const pointer_check check{options_.check_pointers, stream};
  if (b_bytes_ > 0) require_usable(doing, program_->where(), {{"b", b}}, check);
  if (x_bytes_ > 0) require_usable(doing, program_->where(), {{"x", x}}, check);
}

std::shared_ptr<ticket::state> prepared_program::solve(std::string_view doing, CUstream_st* stream, const void* b,
                                                       void* x) {
  const turns::turn mine = enter(doing);
  auto launched = enqueue(stream, b, x);
  if (launched->in_capture)
    throw error(doing, "its stream is being captured, where nothing runs that one could wait for",
                "Use enqueue, and wait() once the graph has run");
  if (desk_.is_monitored() && !program_->where().on_host()) desk_.wait_and_tell(*launched);
  return launched;
}

std::shared_ptr<ticket::state> prepared_program::launch(CUstream_st* stream, const void* b, void* x) {
  const turns::turn mine = enter("enqueueing a solve");
  auto started = desk_.begin();
  set_parameters(*started, b, x);
  desk_.run(*started, stream);
  return started;
}

std::shared_ptr<ticket::state> prepared_program::solve(std::string_view doing, const void* b, void* x) {
  const turns::turn mine = enter(doing);
  const place where = program_->where();
  if (where.on_host()) return launch(nullptr, b, x);
#if WHILST_WITH_CUDA
  desk_.require_context(doing);  // before allocating in another context
  const std::size_t of_x = b_bytes_ > 0 ? 1 : 0;
  if (!vectors_.is_made()) {
    std::vector<std::size_t> bytes{x_bytes_};
    if (b_bytes_ > 0) bytes.insert(bytes.begin(), b_bytes_);
    vectors_ = vectors_on_gpu(where, std::move(bytes), touched_once_);
  }
  try {
    if (b_bytes_ > 0) {
      vectors_.upload("copying b and x to the GPU", {b, x});
    } else {
      vectors_.upload("copying x to the GPU", {x});
    }
    auto started = launch(vectors_.stream(), vectors_[0], vectors_[of_x]);
    if (desk_.is_monitored() || !vectors_.are_staged()) desk_.wait_and_tell(*started);
    if (vectors_.stay() && desk_.ends_soon(*started)) {
      vectors_.copy_out(of_x, x);
    } else {
      vectors_.download("copying x from the GPU", of_x, x);
    }
    return started;
  } catch (...) {
    vectors_.wait_quietly();  // for a run and copies in memory that the next solve fills
    throw;
  }
#else
  return {};
#endif
}

index_type prepared_program::bytes() const {
  const turns::turn mine = program_->take_turn();
#if WHILST_WITH_CUDA
  if (!program_->where().on_host()) return vectors_.bytes() + program_->device_bytes();
#endif
  return host_bytes_;
}

template <class Change>
void prepared_program::change(const Change& apply) {
  const turns::turn mine = program_->take_turn();
  loop_options changed = options_;
  apply(changed);
  changed.check("setting the options of a solver");
  options_ = changed;
}
void prepared_program::set_max_iterations(index_type limit) {
  change([&](loop_options& o) { o.max_iterations = limit; });
}
void prepared_program::set_deadline(double seconds) {
  change([&](loop_options& o) { o.deadline = seconds; });
}

}  // namespace whilst
