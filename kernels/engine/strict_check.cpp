#include "whilst/engine/strict_check.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "kernels/engine/doctor.hpp"
#include "kernels/engine/executors.hpp"
#include "kernels/engine/program_view.hpp"

namespace whilst {
namespace {

using contents = std::vector<std::byte>;

/// Watched memory after a step or a call; shares what the step left unchanged with the previous moment.
struct moment {
  const program_node* node = nullptr;
  std::string step;
  std::vector<std::shared_ptr<const contents>> buffers;
};

/// Reads and writes watched memory in the order of a stream.
class watcher {
 public:
  watcher(place where, const std::vector<watched_memory>& watched, [[maybe_unused]] CUstream_st* stream,
          std::size_t most_bytes)
      : where_(where), watched_(watched), stream_(stream), bytes_left_(most_bytes) {
    for (const watched_memory& memory : watched) {
      if ((memory.bytes > 0 && !memory.address) || memory.element_bytes == 0)
        throw error("checking a program strictly", "there is nothing to watch at '" + memory.name + "'",
                    "Give an address in the memory of the program's place, bytes, and the bytes of an element");
    }
  }

  /// The current contents of all of it.
  moment look(const moment* before = nullptr) {
    moment now;
    for (std::size_t k = 0; k < watched_.size(); ++k) {
      contents here(watched_[k].bytes);
      copy(watched_[k].name, here.data(), watched_[k].address, here.size());
      if (before && *before->buffers[k] == here) {
        now.buffers.push_back(before->buffers[k]);
        continue;
      }
      if (here.size() > bytes_left_)
        throw error("checking a program strictly", "copies of what its steps wrote take too much memory",
                    "Watch less, lower the limits of its loops, or allow more bytes");
      bytes_left_ -= here.size();
      now.buffers.push_back(std::make_shared<const contents>(std::move(here)));
    }
    return now;
  }

  /// Reports the first element that differs from then: buffer, element, bytes; false if none does.
  bool differs(const moment& then, strict_report& report) {
    for (std::size_t k = 0; k < watched_.size(); ++k) {
      const contents& expected = *then.buffers[k];
      contents here(watched_[k].bytes);
      copy(watched_[k].name, here.data(), watched_[k].address, here.size());
      const auto at = std::mismatch(expected.begin(), expected.end(), here.begin()).first - expected.begin();
      if (static_cast<std::size_t>(at) == here.size()) continue;
      const std::size_t size = watched_[k].element_bytes, element = static_cast<std::size_t>(at) / size;
      const std::size_t begin = element * size, end = std::min(begin + size, here.size());
      const auto part = [&](const contents& of) {
        return contents(of.begin() + static_cast<std::ptrdiff_t>(begin), of.begin() + static_cast<std::ptrdiff_t>(end));
      };
      report.buffer = watched_[k].name;
      report.element = static_cast<index_type>(element);
      report.expected = part(expected);
      report.found = part(here);
      report.message = "element " + std::to_string(element) + " of '" + report.buffer + "' is " +
                       shown(watched_[k], report.found) + " instead of " + shown(watched_[k], report.expected);
      return true;
    }
    return false;
  }

  void restore(const moment& then) {
    for (std::size_t k = 0; k < watched_.size(); ++k)
      copy(watched_[k].name, watched_[k].address, then.buffers[k]->data(), watched_[k].bytes);
  }

 private:
  static std::string shown(const watched_memory& memory, const contents& element) {
    std::string text;
    for (const std::byte byte : element) {
      char digits[4];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(byte));
      text += (text.empty() ? "" : " ") + std::string(digits);
    }
    if (!memory.show || element.size() != memory.element_bytes) return "bytes " + text;
    return memory.show(element.data()) + " (bytes " + text + ")";
  }

  void copy([[maybe_unused]] const std::string& name, void* target, const void* source, std::size_t bytes) {
    if (bytes == 0) return;
    if (where_.on_host()) {
      std::memcpy(target, source, bytes);
      return;
    }
#if WHILST_WITH_CUDA
    const std::string doing = "copying the watched memory '" + name + "'";
    WHILST_CUDA(doing, cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream_));
    cuda::finish_copies(doing, stream_);  // not part of any run
#endif
  }

  place where_;
  const std::vector<watched_memory>& watched_;
  [[maybe_unused]] CUstream_st* stream_;
  std::size_t bytes_left_;
};

/// Follows a run against the moments of the first one and notes where they diverge.
class comparison {
 public:
  comparison(const std::vector<moment>& expected, watcher& watch, std::string how, std::string cure)
      : expected_(expected), watch_(watch), how_(std::move(how)), cure_(std::move(cure)) {}

  void after(const operation& op) {
    if (!report.passed) return;
    const std::string step = title(op);
    if (at_ == expected_.size()) return part("ran on with '" + step + "' where the first run had ended");
    const moment& then = expected_[at_++];
    if (then.node != op.node || then.step != step)
      return part("ran '" + step + "' where the first run ran '" + then.step + "'");
    report.runs_compared += 1;
    if (!watch_.differs(then, report)) return;
    const auto is_step = [&](const moment& other) { return other.node == op.node && other.step == step; };
    report.passed = false;
    report.step = step;
    report.run = std::count_if(expected_.begin(), expected_.begin() + static_cast<std::ptrdiff_t>(at_), is_step);
    report.message = "after run " + std::to_string(report.run) + " of '" + step + "', " + how_ + ", " + report.message +
                     ". " + cure_;
  }
  void at_the_end() {
    if (report.passed && at_ < expected_.size())
      part("ended before '" + expected_[at_].step + "', with which the first run went on");
  }

  strict_report report;

 private:
  /// A different path through the program with the same memory: what decided is not watched.
  void part(const std::string& what) {
    report.passed = false;
    report.step = at_ > 0 ? expected_[at_ - 1].step : std::string();
    report.message =
        "the program, " + how_ + ", " + what + ". Watch what its verdicts and flags depend on, too. " + cure_;
  }

  const std::vector<moment>& expected_;
  watcher& watch_;
  std::string how_, cure_;
  std::size_t at_ = 0;
};

constexpr const char* keep_on_place =
    "Keep what changes from run to run in memory of the place, written by steps or as a parameter";

#if WHILST_WITH_CUDA

/// Runs steps and calls as separate graphs, each recorded when first reached.
class graph_each {
 public:
  explicit graph_each(cudaStream_t stream) : stream_(stream) {
    // A stream that synchronises with the legacy default stream, to catch calls that use it.
    cudaStream_t made = nullptr;
    WHILST_CUDA("making a stream", cudaStreamCreate(&made));
    recording_ = cuda::stream(made);
  }

  void operator()(const operation& op) {
    cuda::graph_exec& graph = graphs_[&op];
    if (!graph) graph = record_alone(op, recording_.get());
    WHILST_CUDA("launching '" + title(op) + "' as a graph", cudaGraphLaunch(graph.get(), stream_));
  }

 private:
  cudaStream_t stream_;
  cuda::stream recording_;
  std::map<const operation*, cuda::graph_exec> graphs_;
};

#endif

}  // namespace

namespace detail {
std::string show_number(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  return digits;
}
std::string show_number(float value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.9g", static_cast<double>(value));
  return digits;
}
}  // namespace detail

strict_report program::check_strictly(const std::vector<watched_memory>& watched, CUstream_st* stream,
                                      std::size_t most_bytes) {
  const turns::turn mine = enter("checking a program strictly");
  const bool on_host = where().on_host();
#if WHILST_WITH_CUDA
  std::optional<cuda::device_guard> current;
  if (!on_host) {
    current.emplace(where().device());
    stream = stream ? stream : cudaStreamLegacy;
    require_no_capture(stream);
    follow_run_before(stream);
  }
#endif
  const operation_runner directly = [&]([[maybe_unused]] const operation& op) {
    if (on_host) return run_one_on_host(op);
#if WHILST_WITH_CUDA
    run_one_on_stream(op, stream);
#endif
  };
  watcher watch(where(), watched, stream, most_bytes);
  const moment start = watch.look();
  std::vector<moment> first;
  run_each(stream, [&](const operation& op) {
    directly(op);
    moment now = watch.look(first.empty() ? &start : &first.back());
    now.node = op.node;
    now.step = title(op);
    first.push_back(std::move(now));
  });

  const auto run_beside = [&](const operation_runner& run, const std::string& how, const std::string& cure) {
    watch.restore(start);
    comparison beside(first, watch, how, cure);
    run_each(stream, [&](const operation& op) {
      run(op);
      beside.after(op);
    });
    beside.at_the_end();
    return std::move(beside.report);
  };
  if (on_host) return run_beside(directly, "run again from the same memory", keep_on_place);
#if WHILST_WITH_CUDA
  graph_each as_graphs(stream);
  strict_report report = run_beside([&](const operation& op) { as_graphs(op); }, "each step a graph of its own",
                                    "A graph repeats what was recorded. " + std::string(keep_on_place) +
                                        ", and record two iterations where pointers take turns");
  watch.restore(start);
  enqueue(stream);
  wait();
  if (report.passed && watch.differs(first.empty() ? start : first.back(), report)) {
    report.passed = false;
    report.message = "at the end of the program under " + std::string(name(running_on())) + ", all steps alike, " +
                     report.message +
                     ". Look for a step that reads ahead what the one before it writes, or a call that "
                     "leaves work on another stream";
  }
  return report;
#else
  return {};
#endif
}

}  // namespace whilst
