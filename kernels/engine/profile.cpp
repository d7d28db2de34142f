#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "kernels/engine/executors.hpp"
#include "kernels/engine/program_view.hpp"
#include "kernels/engine/steps/pause.hpp"

namespace whilst {
namespace {

/// Collects the runs of each step and call; rows in the order of the tree.
class profile_rows {
 public:
  explicit profile_rows(const std::vector<program_node>& nodes) {
    visit_nodes(nodes, [&](const program_node& node, const std::string& loops) {
      if (node.what != program_node::kind::step && node.what != program_node::kind::call) return;
      row_of_[&node] = rows_.size();
      profile_row& row = rows_.emplace_back();
      row.name = node.name;
      row.loops = loops;
      row.is_call = node.what == program_node::kind::call;
      if (node.step) row.bytes = node.step->bytes();
    });
    row_of_[nullptr] = rows_.size();
    rows_.emplace_back();
  }

  void add(const operation& op, double microseconds) {
    profile_row& row = rows_.at(row_of_.at(op.node));
    if (row.runs == 0) row.name = title(op);
    if (row.runs == 0 && op.runs_sequel) {
      const std::optional<index_type> own = row.bytes, sequel = (op.node + 1)->step->bytes();
      row.bytes = own && sequel ? std::optional(*own + *sequel) : std::nullopt;
      sequels_.push_back(row_of_.at(op.node + 1));
    }
    row.runs += 1;
    row.microseconds += microseconds;
  }

  /// The rows, except sequels that ran with the previous step, and except the library's own if empty.
  std::vector<profile_row> take() {
    std::vector<profile_row> kept;
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      const bool is_sequel = std::find(sequels_.begin(), sequels_.end(), k) != sequels_.end();
      const bool is_own = k + 1 == rows_.size();
      if (!is_sequel && (!is_own || rows_[k].runs > 0)) kept.push_back(std::move(rows_[k]));
    }
    return kept;
  }

 private:
  std::vector<profile_row> rows_;
  std::map<const program_node*, std::size_t> row_of_;
  std::vector<std::size_t> sequels_;
};

#if WHILST_WITH_CUDA

/// Runs steps and calls between two events on a busy stream, so that the timed work is queued before the first event is
/// reached: otherwise this would time the launch.
class event_timer {
 public:
  explicit event_timer(cudaStream_t stream) : stream_(stream) {}

  double microseconds(const operation& op) {
    constexpr std::uint64_t time_to_launch = 20'000;  // a launch takes the CPU 2 to 10 us
    enqueue_pause(stream_, time_to_launch);
    WHILST_CUDA("timing a step", cudaEventRecord(before_.get(), stream_));
    run_one_on_stream(op, stream_);
    WHILST_CUDA("timing a step", cudaEventRecord(after_.get(), stream_));
    WHILST_CUDA("waiting for '" + title(op) + "'", cudaEventSynchronize(after_.get()));
    float milliseconds = 0;
    WHILST_CUDA("timing a step", cudaEventElapsedTime(&milliseconds, before_.get(), after_.get()));
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  cudaStream_t stream_;
  cuda::event before_ = cuda::make_event(/*timed=*/true), after_ = cuda::make_event(/*timed=*/true);
};

#endif

}  // namespace

program_profile program::profile([[maybe_unused]] CUstream_st* stream) {
  const turns::turn mine = enter("profiling a program");
  profile_rows rows(view().nodes);
  if (where().on_host()) {
    run_each(nullptr, [&](const operation& op) {
      const auto began = std::chrono::steady_clock::now();
      run_one_on_host(op);
      rows.add(op, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count());
    });
    return {.executor = "host", .rows = rows.take()};
  }
#if WHILST_WITH_CUDA
  const cuda::device_guard current(where().device());
  cudaStream_t on = stream ? stream : cudaStreamLegacy;
  event_timer timer(on);
  run_each(on, [&](const operation& op) { rows.add(op, timer.microseconds(op)); });
#endif
  return {.executor = "stream", .rows = rows.take()};
}

double profile_row::gigabytes_per_second() const {
  if (!bytes || microseconds <= 0) return 0;
  return static_cast<double>(*bytes) * static_cast<double>(runs) / microseconds * 1e-3;
}

double program_profile::microseconds() const {
  double sum = 0;
  for (const profile_row& row : rows) sum += row.microseconds;
  return sum;
}

std::string program_profile::text() const {
  const double all = microseconds();
  std::size_t width = 12;
  const auto label = [](const profile_row& row) {
    const std::size_t depth =
        row.loops.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(row.loops.begin(), row.loops.end(), '>'));
    return std::string(2 * depth, ' ') + (row.is_call ? "call " : "") + row.name;
  };
  for (const profile_row& row : rows) width = std::max({width, label(row).size(), row.loops.size() + 1});
  char line[160];
  std::string text =
      "executor " + executor + std::string(width > executor.size() + 9 ? width - executor.size() - 9 : 0, ' ');
  std::snprintf(line, sizeof line, "%10s%14s%12s%8s%15s%10s\n", "runs", "us", "us a run", "share", "bytes a run",
                "GB/s");
  text += line;
  std::string loops;
  for (const profile_row& row : rows) {
    if (row.loops != loops) {
      loops = row.loops;
      if (!loops.empty()) text += loops + ":\n";
    }
    const std::string name = label(row);
    std::snprintf(line, sizeof line, "%10lld%14.1f%12.2f%7.1f%%", static_cast<long long>(row.runs), row.microseconds,
                  row.runs ? row.microseconds / static_cast<double>(row.runs) : 0.0,
                  all > 0 ? 100 * row.microseconds / all : 0.0);
    text += name + std::string(width - name.size(), ' ') + line;
    if (row.bytes && row.runs) {
      std::snprintf(line, sizeof line, "%15lld%10.1f", static_cast<long long>(*row.bytes), row.gigabytes_per_second());
      text += line;
    }
    text += "\n";
  }
  std::snprintf(line, sizeof line, "%24.1f\n", all);
  return text + "in all" + std::string(width - 6, ' ') + line;
}

}  // namespace whilst
