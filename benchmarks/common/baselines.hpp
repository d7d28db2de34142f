#pragma once

/// What a GPU program would do without Whilst, as a yardstick: on the current device. Linked by the benchmarks and
/// `whilst compare`; no part of the library.

#include <span>
#include <string>
#include <vector>

#include "whilst/csr_matrix.hpp"

namespace whilst {

/// A baseline's result.
template <class T>
struct baseline_result {
  std::string name;
  /// False if this build or machine cannot run it.
  bool available = false;
  /// Why not, in one sentence; empty if available.
  std::string why_not = {};
  /// Completed updates of x: as many as requested, unless the residual vanished or the method broke down earlier.
  index_type iterations = 0;
  /// By CUDA events around the loop alone, without setup: the median of several runs after one warm-up.
  double seconds_per_iteration = 0;
  /// The last run's solution, from x = 0.
  std::vector<T> x = {};
};

/// The usual loop over cuSPARSE and cuBLAS: textbook conjugate gradients, SpMV through the generic interface with its
/// preprocessing, dot, nrm2, axpy and scal with scalars on the host, hence two synchronisations per iteration (three
/// with the preconditioner), and the residual norm checked on the host in each.
///
/// A: square, on the host or on the current device; b: host memory, one entry per row; jacobi: precondition with the
/// diagonal. Throws whilst::error on sizes that disagree and on failing CUDA calls.
template <class T>
baseline_result<T> host_driven_conjugate_gradient(const csr_matrix<T>& A, std::span<const T> b, index_type iterations,
                                                  bool jacobi);

/// What hand_written_graph_conjugate_gradient adds to the plain structure; each can be switched off to see its gain.
struct hand_written_options {
  /// Iterations per trip through the WHILE node.
  int unroll = 16;
  /// Overlap the start of each kernel with the end of the previous one.
  bool programmatic_launch = true;
  /// Read what the previous kernel does not write (the matrix; p, q and x) before waiting for it.
  bool early_reads = true;
  /// Stop at this residual norm; 0: when it vanishes.
  double residual_threshold = 0;
};

/// The yardstick, "by hand" in tables: how fast the loop could be if written for this one purpose. Two kernels of its
/// own, none of the library's, in a WHILE node captured by hand: the arithmetic of
/// include/whilst/linear/methods/conjugate_gradient.hpp, launch shapes by the same rule, stopped on the device by the
/// number of iterations or the residual norm. Leaner than the library's loop, which does more in its time: there is no
/// history, no cancel, no deadline and no restart from the recomputed residual. Arguments and errors as above.
template <class T>
baseline_result<T> hand_written_graph_conjugate_gradient(const csr_matrix<T>& A, std::span<const T> b,
                                                         index_type iterations, bool jacobi,
                                                         const hand_written_options& options = {});

}  // namespace whilst
