#include "whilst/engine/steps/host_threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "whilst/basics/error.hpp"

namespace whilst {
namespace {

constexpr int most_threads = 1024;
using body_type = std::function<void(index_type)>;

/// How many forks lie between this process and the one that loaded the library: of its parent's threads, a child has
/// only the one that forked.
std::atomic<int> forks{0};

/// Whether this thread runs a body.
thread_local bool is_in_body = false;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until the word is no longer `value` and returns it. Steps follow one another within microseconds; after that,
/// yields the processor.
template <class Word>
Word wait_while(const std::atomic<Word>& word, Word value) {
  constexpr int spins = 500;
  for (int k = 0; k < spins; ++k, pause())
    if (const Word now = word.load(); now != value) return now;
  word.wait(value);
  return word.load();
}

/// The thread that creates it, and others that wait for its calls of run.
class thread_team {
 public:
  thread_team() = default;
  ~thread_team() {
    job_.store(job_.load() | over);
    job_.notify_all();
    for (std::thread& other : others_) other.join();
  }

  bool is_of_this_process() const { return made_after_ == forks.load(); }

  void run(index_type count, int threads, const body_type& body) {
    const int members = std::min(threads, 1 + grow(threads - 1));
    body_ = &body;
    shares_in_use_ = members;
    for (int rank = 0; rank < members; ++rank) {
      shares_[rank].next.store(begin_of_share(rank, members, count), std::memory_order_relaxed);
      shares_[rank].end = begin_of_share(rank + 1, members, count);
    }
    const std::uint32_t closed = job_.load() + one_job;
    job_.store(closed | static_cast<std::uint32_t>(members));
    job_.notify_all();
    take_part(0);
    // Threads arriving from here on find nothing to do; wait for those that came earlier.
    job_.store(closed);
    for (int helping = helping_.load(); helping != 0;) helping = wait_while(helping_, helping);
    if (first_failure_) std::rethrow_exception(std::exchange(first_failure_, nullptr));
  }

 private:
  /// A job's word: low bits count participating threads, 0 between jobs; the bits above hold the job's number.
  static constexpr std::uint32_t members_mask = 2 * most_threads - 1, over = members_mask, one_job = 2 * most_threads;

  /// What a thread takes first: neighbours in memory, the same in each step. Idle threads then take from others.
  struct alignas(64) share {
    std::atomic<index_type> next{0};
    index_type end = 0;
  };
  static index_type begin_of_share(int rank, int members, index_type count) {
    return count / members * rank + std::min<index_type>(rank, count % members);
  }

  /// Threads beside the calling one: as many as wanted, or as possible.
  int grow(int wanted) {
    const auto size = static_cast<int>(others_.size());
    if (size >= wanted) return size;
    try {
      if (shares_.size() < static_cast<std::size_t>(wanted) + 1) shares_ = std::vector<share>(wanted + 1);
      others_.reserve(wanted);
      while (static_cast<int>(others_.size()) < wanted)
        others_.emplace_back(
            [this, rank = static_cast<int>(others_.size()) + 1, seen = job_.load()] { help(rank, seen); });
    } catch (const std::exception&) {  // out of threads or memory
    }
    return static_cast<int>(others_.size());
  }

  void help(int rank, std::uint32_t seen) {
    is_in_body = true;
    for (;;) {
      seen = wait_while(job_, seen);
      const std::uint32_t members = seen & members_mask;
      if (members == over) return;
      if (static_cast<std::uint32_t>(rank) >= members) continue;
      helping_.fetch_add(1);
      if (job_.load() == seen) take_part(rank);
      if (helping_.fetch_sub(1) == 1) helping_.notify_one();
    }
  }

  void take_part(int rank) {
    for (int k = 0; k < shares_in_use_; ++k) {
      share& from = shares_[(rank + k) % shares_in_use_];
      while (from.next.load(std::memory_order_relaxed) < from.end) {
        const index_type taken = from.next.fetch_add(1, std::memory_order_relaxed);
        if (taken < from.end) call_body(taken);
      }
    }
  }

  void call_body(index_type k) {
    try {
      (*body_)(k);
    } catch (...) {
      const std::lock_guard hold(failure_lock_);
      if (first_failure_ && failed_at_ < k) return;
      first_failure_ = std::current_exception();
      failed_at_ = k;
    }
  }

  const int made_after_ = forks.load();
  std::vector<std::thread> others_;
  std::atomic<std::uint32_t> job_{0};
  std::atomic<int> helping_{0};
  // The current job.
  const body_type* body_ = nullptr;
  int shares_in_use_ = 0;
  std::vector<share> shares_ = std::vector<share>(1);
  std::mutex failure_lock_;
  std::exception_ptr first_failure_;
  index_type failed_at_ = 0;
};

/// This thread's team; destroyed with the thread and null from then on.
class team_of_thread {
 public:
  ~team_of_thread() {
    has_ended_ = true;
    give_up();
  }
  thread_team* get() {
    if (has_ended_) return nullptr;
    if (team_ && !team_->is_of_this_process()) give_up();
    if (!team_) {
      [[maybe_unused]] static const int counted = pthread_atfork(nullptr, nullptr, [] { ++forks; });
      team_ = std::make_unique<thread_team>();
    }
    return team_.get();
  }

 private:
  void give_up() {
    // A parent's threads cannot be joined, nor can their handles be destroyed.
    if (team_ && !team_->is_of_this_process()) static_cast<void>(team_.release());
    team_.reset();
  }
  static thread_local bool has_ended_;
  std::unique_ptr<thread_team> team_;
};
thread_local bool team_of_thread::has_ended_ = false;

class in_body {
 public:
  in_body() { is_in_body = true; }
  ~in_body() { is_in_body = false; }
  in_body(const in_body&) = delete;
  in_body& operator=(const in_body&) = delete;
};

}  // namespace

int usual_host_threads() {
#if defined(_OPENMP)
  return omp_in_parallel() ? 1 : omp_get_max_threads();
#else
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
#endif
}

void check_host_threads(const std::string& doing, int threads) {
  if (threads < 0 || threads > most_threads)
    throw error(doing, "threads is " + std::to_string(threads),
                "Give 1 to " + std::to_string(most_threads) + ", or 0 for as many as OpenMP's settings say");
}

bool is_on_host_threads() { return is_in_body; }

void run_on_threads(index_type count, int threads, index_type least_a_thread, const body_type& body) {
  const index_type useful = is_in_body ? 1 : count / least_a_thread;
  if (useful > 1) {
    const index_type allowed = std::min(threads > 0 ? threads : usual_host_threads(), most_threads);
    static thread_local team_of_thread mine;
    thread_team* const team = allowed > 1 ? mine.get() : nullptr;
    if (team) {
      const in_body now;
      return team->run(count, static_cast<int>(std::min(useful, allowed)), body);
    }
  }
  for (index_type k = 0; k < count; ++k) body(k);
}

}  // namespace whilst
