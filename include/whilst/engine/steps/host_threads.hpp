#pragma once

#include <functional>
#include <string>

#include "whilst/basics/index_type.hpp"

namespace whilst {

/// Threads that the host executor uses where nobody asks for a number: what OpenMP's settings give the calling thread
/// (OMP_NUM_THREADS, omp_set_num_threads; 1 within a parallel region), without OpenMP one a processor.
int usual_host_threads();

/// Throws whilst::error unless `threads` is 0, for usual_host_threads, to 1024. `doing` opens the message.
void check_host_threads(const std::string& doing, int threads);

/// Calls body(k) once for every k from 0 to count - 1 and returns when all calls have. They are shared out among the
/// calling thread and, at most, threads - 1 others (0: usual_host_threads), fewer where that leaves a thread less than
/// `least_a_thread` of them; calls within a body run on its own thread alone. Which thread runs which k depends on the
/// machine's load: let the result not depend on it.
///
/// What a body throws comes out of here, when no other body runs any more: of several exceptions that of the smallest
/// k. The others have run, or have not.
///
/// The other threads belong to the calling thread and wait, asleep after some microseconds, for its next call. One that
/// the machine is slow to wake is not waited for, the rest do its share: a barrier of OpenMP's would wait, and on a
/// machine with other work that is most of the time. A child process after fork() gets threads of its own.
void run_on_threads(index_type count, int threads, index_type least_a_thread,
                    const std::function<void(index_type)>& body);

/// Whether the calling thread is within a body.
bool is_on_host_threads();

}  // namespace whilst
