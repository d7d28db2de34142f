#pragma once

#include <cstdint>

#include "solvers/linear/multigrid/level_memory.hpp"
#include "solvers/linear/multigrid/patterns/transposed_pattern.hpp"
#include "whilst/engine/recorder.hpp"

namespace whilst::multigrid {

/// Which unknowns are those of the next coarser level: PMIS, the parallel modified independent set of H. De Sterck, U.
/// M. Yang, J. J. Heys, "Reducing complexity in parallel algebraic multigrid preconditioners", SIAM J. Matrix Anal.
/// Appl. 27 (2006) 1019-1039, section 4. First come unknowns on which many depend, then chance decides. Unknowns on
/// which none depends are fine. Random numbers are hashes, so the same graph is split in the same way everywhere.
///
/// Records the split. S: of each unknown those on which it depends strongly; coarse: receives the number of each coarse
/// unknown, in the order of unknowns, and -1 for fine ones. numbers: receives their count, at [rows].
void record_splitting(recorder& run, const pattern_view& S, const transposed_pattern& dependents, std::int32_t* coarse,
                      std::int32_t* numbers, level_memory& scratch);

}  // namespace whilst::multigrid
