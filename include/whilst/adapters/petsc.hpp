#pragma once

/// @file
/// A KSP of PETSc, type "whilst". Needs the headers of PETSc 3.17 or later with real numbers.

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <petscksp.h>
// What a type of KSP outside PETSc is made of.
#include <petsc/private/kspimpl.h>

#include "whilst/basics/error.hpp"
#include "whilst/files/options_text.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/linear_solver.hpp"

#if defined(PETSC_USE_COMPLEX)
#error "Whilst solves real systems: use a PETSc that was configured with real numbers"
#endif

namespace whilst::petsc {

/// The type's name, for KSPSetType and -ksp_type.
inline constexpr const char* type = "whilst";

namespace detail {

static_assert(std::is_same_v<PetscScalar, double> || std::is_same_v<PetscScalar, float>,
              "Whilst computes in float and in double");

/// What a KSP of this type holds.
class state {
 public:
  std::string text;  ///< options of set_options
  /// Records a loop for the KSP's matrix unless the one there is is for its pattern; takes its values.
  void set_up(KSP ksp);
  void solve(KSP ksp);
  /// One line about what solves, or an empty one.
  std::string words() const;

 private:
  void record(KSP ksp, Mat A);
  linear_solver_options options_of(KSP ksp, Mat A) const;

  std::optional<linear_solver<PetscScalar>> solver_;
  whilst::report report_;
  // What it was recorded for.
  PetscObjectId matrix_ = 0;
  PetscObjectState nonzeros_ = 0, values_ = 0;
  const PetscScalar* entries_ = nullptr;
  std::optional<linear_solver_options> options_;
  PC called_ = nullptr;
};

/// An error of PETSc's on its way to the caller.
struct failed_call : std::runtime_error {
  PetscErrorCode code;
  explicit failed_call(PetscErrorCode given)
      : std::runtime_error("PETSc reported error " + std::to_string(int(given))), code(given) {}
};
/// Throws for PETSc's error codes, where exceptions pass.
inline void check(PetscErrorCode code) {
  if (code != PetscErrorCode(0)) throw failed_call(code);
}

inline bool is_type(PetscObject object, const char* name) {
  PetscBool same = PETSC_FALSE;
  check(PetscObjectTypeCompare(object, name, &same));
  return same == PETSC_TRUE;
}

/// What `work` does, with exceptions turned into an error of PETSc.
template <class Work>
PetscErrorCode guarded(const Work& work) {
  PetscFunctionBegin;
  try {
    work();
  } catch (const failed_call& failure) {
    PetscCall(failure.code);
  } catch (const std::bad_alloc&) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Whilst ran out of memory");
  } catch (const std::exception& problem) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", problem.what());
  }
  PetscFunctionReturn(PetscErrorCode(0));
}

/// Borrows PETSc's rows, which must be of a SeqAIJ matrix. With 64-bit PetscInt offsets and indices are copied.
inline csr_matrix<PetscScalar> rows_of(Mat A, const PetscScalar*& entries) {
  PetscInt rows = 0, columns = 0;
  check(MatGetSize(A, &rows, &columns));
  const PetscInt *offsets = nullptr, *indices = nullptr;
  PetscBool done = PETSC_FALSE;
  check(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &offsets, &indices, &done));
  if (!done) throw error("solving by a KSP of type whilst", "PETSc does not give the matrix's rows", "Use type seqaij");
  check(MatSeqAIJGetArrayRead(A, &entries));
  const auto nonzeros = static_cast<std::size_t>(offsets[rows]);
  const std::span<const PetscInt> row_offsets(offsets, static_cast<std::size_t>(rows) + 1),
      column_indices(indices, nonzeros);
  const std::span<const PetscScalar> values(entries, nonzeros);
  const auto made = [&] {
    if constexpr (sizeof(PetscInt) == 4) {
      return csr_matrix<PetscScalar>::borrow(rows, columns, row_offsets, column_indices, values);
    } else {
      return csr_matrix<PetscScalar>(rows, columns, row_offsets, column_indices, values);
    }
  }();
  // They stay where they are: the matrix owns them.
  const PetscScalar* kept = entries;
  check(MatSeqAIJRestoreArrayRead(A, &kept));
  check(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &offsets, &indices, &done));
  return made;
}

/// The preconditioner of a PC, which each iteration calls with vectors in host memory.
inline auto called(PC pc, PetscInt rows) {
  struct two_vectors {
    Vec from = nullptr, to = nullptr;
    ~two_vectors() {
      (void)VecDestroy(&from);
      (void)VecDestroy(&to);
    }
  };
  const auto kept = std::make_shared<two_vectors>();
  check(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, rows, nullptr, &kept->from));
  check(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, rows, nullptr, &kept->to));
  return [pc, kept](stream_handle, index_type, const PetscScalar* r, PetscScalar* z) {
    check(VecPlaceArray(kept->from, r));
    check(VecPlaceArray(kept->to, z));
    check(PCApply(pc, kept->from, kept->to));
    check(VecResetArray(kept->from));
    check(VecResetArray(kept->to));
  };
}

/// The vectors of the null space that the matrix says it has.
inline void add_null_space(Mat A, linear_solver_options& options) {
  MatNullSpace space = nullptr;
  check(MatGetNullSpace(A, &space));
  if (!space || options.null_space != "none") return;
  PetscBool has_constant = PETSC_FALSE;
  PetscInt count = 0;
  const Vec* vectors = nullptr;
  check(MatNullSpaceGetVecs(space, &has_constant, &count, &vectors));
  if (count == 0) {
    if (has_constant) options.null_space = "constant";
    return;
  }
  options.null_space = "vectors";
  PetscInt rows = 0;
  check(MatGetSize(A, &rows, nullptr));
  if (has_constant) options.null_space_vectors.assign(static_cast<std::size_t>(rows), 1);
  for (PetscInt k = 0; k < count; ++k) {
    const PetscScalar* v = nullptr;
    check(VecGetArrayRead(vectors[k], &v));
    options.null_space_vectors.insert(options.null_space_vectors.end(), v, v + rows);
    check(VecRestoreArrayRead(vectors[k], &v));
  }
}

inline linear_solver_options state::options_of(KSP ksp, Mat A) const {
  std::array<char, 4096> from_command_line{};
  PetscBool given = PETSC_FALSE;
  const PetscObject object = reinterpret_cast<PetscObject>(ksp);
  check(PetscOptionsGetString(object->options, object->prefix, "-ksp_whilst_options", from_command_line.data(),
                              from_command_line.size(), &given));
  linear_solver_options options;
  options.method = "auto";
  options = options_from_string<linear_solver_options>(text, options);
  if (given) options = options_from_string<linear_solver_options>(from_command_line.data(), options);
  add_null_space(A, options);
  return options;
}

inline void state::record(KSP ksp, Mat A) {
  solver_.reset();
  linear_solver_options options = options_of(ksp, A);
  PC pc = nullptr;
  check(KSPGetPC(ksp, &pc));
  if (options.preconditioner != "none") check(PCSetType(pc, PCNONE));
  const bool calls = !is_type(reinterpret_cast<PetscObject>(pc), PCNONE);
  const csr_matrix<PetscScalar> rows = rows_of(A, entries_);
  if (calls) {
    options.callback_memory = "host";
    solver_.emplace(rows, called(pc, static_cast<PetscInt>(rows.rows())), options);
  } else {
    solver_.emplace(rows, options);
  }
}

inline void state::set_up(KSP ksp) {
  Mat A = nullptr;
  check(KSPGetOperators(ksp, &A, nullptr));
  if (!is_type(reinterpret_cast<PetscObject>(A), MATSEQAIJ)) {
    MatType is = nullptr;
    check(MatGetType(A, &is));
    throw error("solving by a KSP of type whilst", "the matrix is of type " + std::string(is ? is : "none"),
                "Use a matrix of type seqaij, on one process");
  }
  PetscObjectId matrix = 0;
  PetscObjectState nonzeros = 0, values = 0;
  check(PetscObjectGetId(reinterpret_cast<PetscObject>(A), &matrix));
  check(MatGetNonzeroState(A, &nonzeros));
  check(PetscObjectStateGet(reinterpret_cast<PetscObject>(A), &values));
  PC pc = nullptr;
  check(KSPGetPC(ksp, &pc));
  const auto called_now = [&] { return is_type(reinterpret_cast<PetscObject>(pc), PCNONE) ? nullptr : pc; };
  linear_solver_options options = options_of(ksp, A);
  const PetscScalar* entries = nullptr;
  check(MatSeqAIJGetArrayRead(A, &entries));
  const PetscScalar* const present = entries;
  check(MatSeqAIJRestoreArrayRead(A, &entries));
  if (solver_ && matrix == matrix_ && nonzeros == nonzeros_ && present == entries_ && called_now() == called_ &&
      options_ && options == *options_) {
    if (values != values_) solver_->update_values(rows_of(A, entries_));
  } else {
    record(ksp, A);
  }
  matrix_ = matrix, nonzeros_ = nonzeros, values_ = values, called_ = called_now();
  options_ = std::move(options);
}

/// PETSc's word for how a solve ended; where it has none, breakdown.
inline KSPConvergedReason reason_of(reason why) {
  switch (why) {
    case reason::converged_normal:
      return KSP_CONVERGED_RTOL_NORMAL;
    case reason::converged_rtol:
      return KSP_CONVERGED_RTOL;
    case reason::converged_atol:
      return KSP_CONVERGED_ATOL;
    case reason::iteration_limit:
      return KSP_DIVERGED_ITS;
    case reason::divergence:
      return KSP_DIVERGED_DTOL;
    case reason::indefinite_preconditioner:
      return KSP_DIVERGED_INDEFINITE_PC;
    case reason::nan_or_infinity:
      return KSP_DIVERGED_NANORINF;
    case reason::indefinite_operator:
      return KSP_DIVERGED_INDEFINITE_MAT;
    default:
      return converged(why) ? KSP_CONVERGED_ITS : KSP_DIVERGED_BREAKDOWN;
  }
}

inline void state::solve(KSP ksp) {
  PetscBool is_transposed = ksp->transpose_solve;
  if (is_transposed)
    throw error("solving by a KSP of type whilst", "it has no solves with the transpose", "Transpose the matrix");
  PetscInt entries_of_b = 0, entries_of_x = 0;
  check(VecGetLocalSize(ksp->vec_rhs, &entries_of_b));
  check(VecGetLocalSize(ksp->vec_sol, &entries_of_x));
  if (entries_of_b != entries_of_x)
    throw error("solving by a KSP of type whilst", "the matrix is rectangular",
                "Use KSPLSQR, or whilst::linear_solver");
  const bool is_untested = ksp->normtype == KSP_NORM_NONE || ksp->converged == KSPConvergedSkip;
  if (!is_untested && ksp->converged != KSPConvergedDefault)
    throw error("solving by a KSP of type whilst", "it has a convergence test of its own, which would not be called",
                "Use KSPSetTolerances, or a KSP of PETSc's");
  set_up(ksp);  // values may have changed since
  if (ksp->guess_zero) check(VecSet(ksp->vec_sol, 0));
  solver_->set_tolerances(is_untested ? 0 : static_cast<double>(ksp->rtol),
                          is_untested ? 0 : static_cast<double>(ksp->abstol));
  solver_->set_divergence(is_untested ? std::numeric_limits<double>::max() : static_cast<double>(ksp->divtol));
  solver_->set_max_iterations(ksp->max_it);
  PetscInt n = 0;
  check(VecGetLocalSize(ksp->vec_sol, &n));
  const auto size = static_cast<std::size_t>(n);
  const PetscScalar* b = nullptr;
  PetscScalar* x = nullptr;
  check(VecGetArrayRead(ksp->vec_rhs, &b));
  check(VecGetArray(ksp->vec_sol, &x));
  std::exception_ptr problem;
  try {
    report_ = solver_->solve(std::span<const PetscScalar>(b, size), std::span<PetscScalar>(x, size));
  } catch (...) {
    problem = std::current_exception();
  }
  check(VecRestoreArray(ksp->vec_sol, &x));
  check(VecRestoreArrayRead(ksp->vec_rhs, &b));
  if (problem) std::rethrow_exception(problem);
  for (const history_record& one : report_.history()) {
    check(KSPLogResidualHistory(ksp, static_cast<PetscReal>(one.residual_norm)));
    check(KSPMonitor(ksp, static_cast<PetscInt>(one.iteration), static_cast<PetscReal>(one.residual_norm)));
  }
  ksp->its = static_cast<PetscInt>(report_.iterations());
  ksp->rnorm = static_cast<PetscReal>(report_.residual_norm());
  ksp->reason = reason_of(report_.reason());
  if (is_untested && (report_.reason() == reason::iteration_limit || report_.reason() == reason::attainable_accuracy))
    ksp->reason = KSP_CONVERGED_ITS;
  if (called_ && ksp->reason < 0) {
    PCFailedReason why = PC_NOERROR;
    check(PCGetFailedReason(called_, &why));
    if (why != PC_NOERROR) ksp->reason = KSP_DIVERGED_PC_FAILED;
  }
  check(PetscInfo(ksp, "%s\n", report_.message().c_str()));
}

inline std::string state::words() const {
  if (report_.method().empty()) return "not solved yet";
  const std::string& made = report_.preconditioner_choice();
  return "method " + report_.method() + ", preconditioner " + (made.empty() ? report_.preconditioner() : made) +
         ", executor " + report_.executor() + " on " + report_.device();
}

inline state& of(KSP ksp) { return *static_cast<state*>(ksp->data); }

inline PetscErrorCode set_up(KSP ksp) {
  return guarded([&] { of(ksp).set_up(ksp); });
}
inline PetscErrorCode solve(KSP ksp) {
  return guarded([&] { of(ksp).solve(ksp); });
}
inline PetscErrorCode destroy(KSP ksp) {
  return guarded([&] { delete static_cast<state*>(std::exchange(ksp->data, nullptr)); });
}
inline PetscErrorCode reset(KSP ksp) {
  return guarded([&] {
    const std::string text = of(ksp).text;
    of(ksp) = {};
    of(ksp).text = text;
  });
}
inline PetscErrorCode view(KSP ksp, PetscViewer viewer) {
  return guarded([&] {
    if (is_type(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII))
      check(PetscViewerASCIIPrintf(viewer, "  %s\n", of(ksp).words().c_str()));
  });
}

inline PetscErrorCode create(KSP ksp) {
  return guarded([&] {
    ksp->data = new state;
    ksp->ops->setup = set_up;
    ksp->ops->solve = solve;
    ksp->ops->destroy = destroy;
    ksp->ops->reset = reset;
    ksp->ops->view = view;
    ksp->ops->buildsolution = KSPBuildSolutionDefault;
    ksp->ops->buildresidual = KSPBuildResidualDefault;
    ksp->setupnewmatrix = PETSC_TRUE;
    for (const PCSide side : {PC_LEFT, PC_RIGHT}) {  // norms are those of b - A x
      check(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, side, side == PC_LEFT ? 3 : 2));
      check(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, side, 1));
    }
  });
}

}  // namespace detail

/// Makes KSP type "whilst" known to PETSc: call it after PetscInitialize, once a process.
///
/// KSPSetType(ksp, whilst::petsc::type), or -ksp_type whilst, then has KSPSolve solve by a whilst::linear_solver. Its
/// options come from -ksp_whilst_options, "method=cg,preconditioner=amg", or set_options; the method is "auto" if none
/// is named. Tolerances and limits are the KSP's; the norm is that of b - A x. With KSP_NORM_NONE, or KSPConvergedSkip
/// as the test, a solve takes the limit's iterations, or fewer where x cannot get better, and is KSP_CONVERGED_ITS;
/// other tests of the caller's are refused. Matrices are of type seqaij: on the host their arrays are read in place.
/// They may get new values between solves, and other entries. Matrices with a MatNullSpace are solved as singular.
/// KSPMonitor is called after the solve, with the history.
///
/// A preconditioner that Whilst's options name takes the place of the KSP's PC, which becomes PCNONE. Otherwise each
/// iteration calls the PC, on the host; PETSc's default is ILU, and -pc_type none leaves it out.
///
/// An end that PETSc has no word for, such as attainable_accuracy, is KSP_DIVERGED_BREAKDOWN: -info prints the reason.
/// Errors of Whilst's become PETSC_ERR_LIB with their message; those of PETSc's own, as of a PC, keep their code.
inline PetscErrorCode register_solver() { return KSPRegister(type, detail::create); }

/// Options for a KSP of this type as text: see whilst::options_from_string. Those of -ksp_whilst_options count before
/// these. The next solve heeds them. Fails if the KSP is of another type or if the text is wrong.
inline PetscErrorCode set_options(KSP ksp, std::string_view text) {
  return detail::guarded([&] {
    if (!detail::is_type(reinterpret_cast<PetscObject>(ksp), type))
      throw error("setting options of a KSP", "it is not of type whilst", "Call KSPSetType(ksp, whilst::petsc::type)");
    (void)options_from_string<linear_solver_options>(text);
    detail::of(ksp).text = text;
  });
}

}  // namespace whilst::petsc
