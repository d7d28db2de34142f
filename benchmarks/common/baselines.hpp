#pragma once

/// What a GPU program would do without Whilst, to measure it against: on the current device. Linked by benchmarks and
/// by `whilst compare`; no part of the library.

#include <span>
#include <string>
#include <vector>

#include "whilst/csr_matrix.hpp"

namespace whilst {

/// What a baseline found out.
template <class T>
struct baseline_result {
  std::string name;
  /// False where this build or machine cannot run it.
  bool available = false;
  /// Why not, in one sentence; empty where available.
  std::string why_not = {};
  /// Completed updates of x: as many as asked for, unless the residual vanished or the method broke down before.
  index_type iterations = 0;
  /// By CUDA events around the loop alone, setup left out: the median of several runs, after one to warm up.
  double seconds_per_iteration = 0;
  /// The last run's solution, from x = 0.
  std::vector<T> x = {};
};

/// The usual loop over cuSPARSE and cuBLAS: the textbook's conjugate gradients, SpMV by the generic interface with its
/// preprocessing, dot, nrm2, axpy and scal with scalars on the host, hence two synchronisations an iteration (three
/// with the preconditioner), and the norm of the residual looked at on the host in each.
///
/// A: square, on the host or on the current device; b: host memory, one entry a row; jacobi: precondition by the
/// diagonal. Throws whilst::error on sizes that do not agree and on failing CUDA calls.
template <class T>
baseline_result<T> host_driven_conjugate_gradient(const csr_matrix<T>& A, std::span<const T> b, index_type iterations,
                                                  bool jacobi);

/// What hand_written_graph_conjugate_gradient does on top of the plain structure; each can be taken away to see what it
/// brings.
struct hand_written_options {
  /// Iterations a trip through the WHILE node.
  int unroll = 16;
  /// Overlap the start of each kernel with the end of the one before.
  bool programmatic_launch = true;
  /// Read what the kernel before does not write (the matrix; p, q and x) before waiting for it.
  bool early_reads = true;
  /// Stop at this norm of the residual; 0: when it vanishes.
  double residual_threshold = 0;
};

/// The yardstick, "by hand" in tables: how fast the loop could be if somebody wrote it for this one purpose. Two
/// kernels of its own, none of the library's, in a WHILE node captured by hand: the arithmetic of
/// include/whilst/linear/conjugate_gradient.hpp, launch shapes by the same rule, stopped on the device by the number of
/// iterations or the norm of the residual. Leaner than the library's loop, which does more in its time: here is no
/// history, no cancel, no deadline and no restart from the recomputed residual. Arguments and errors as above.
template <class T>
baseline_result<T> hand_written_graph_conjugate_gradient(const csr_matrix<T>& A, std::span<const T> b,
                                                         index_type iterations, bool jacobi,
                                                         const hand_written_options& options = {});

}  // namespace whilst
