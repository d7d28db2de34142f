#pragma once

#include <functional>
#include <string>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Default number of threads of the host executor: what OpenMP's settings give the calling thread (OMP_NUM_THREADS,
/// omp_set_num_threads; 1 within a parallel region); without OpenMP, one per processor.
int usual_host_threads();

/// Throws whilst::error unless `threads` is 0, for usual_host_threads, to 1024. `doing` opens the message.
void check_host_threads(const std::string& doing, int threads);

/// Calls body(k) once for every k from 0 to count - 1 and returns when all calls have returned. Divides them among the
/// calling thread and at most threads - 1 others (0: usual_host_threads), fewer if a thread would get less than
/// `least_a_thread` of them; nested calls run on the body's own thread alone. Which thread runs which k depends on the
/// machine's load: do not let the result depend on it.
///
/// Rethrows what a body throws, once no other body is running: of several exceptions that of the smallest k. Other
/// bodies may or may not have run.
///
/// The other threads belong to the calling thread and wait, asleep after some microseconds, for its next call. If one
/// is slow to wake, the rest do its share instead of waiting: an OpenMP barrier would wait, and on a busy machine that
/// is most of the time. A child process after fork() gets its own threads.
void run_on_threads(index_type count, int threads, index_type least_a_thread,
                    const std::function<void(index_type)>& body);

/// Whether the calling thread is within a body.
bool is_on_host_threads();

}  // namespace whilst
