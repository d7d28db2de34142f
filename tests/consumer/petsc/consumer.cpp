/// KSP type "whilst" against PETSc's own direct solver: methods, preconditioners of both, new values and patterns, null
/// spaces, ends, and misuse.

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include <petscksp.h>
#include <whilst/adapters/petsc.hpp>

#include "../memory.hpp"

namespace {

bool passed = true;
void expect(bool promise, const char* what) {
  if (promise) return;
  std::printf("failed: %s\n", what);
  passed = false;
}
/// PETSc's calls, which must work.
void must(PetscErrorCode code) {
  if (code == PetscErrorCode(0)) return;
  std::printf("failed: a call of PETSc reported error %d\n", int(code));
  passed = false;
}
/// A call that must fail; its message is kept in `told`.
std::string told;
PetscErrorCode keep_message(MPI_Comm, int, const char*, const char*, PetscErrorCode code, PetscErrorType,
                            const char* text, void*) {
  told += text ? text : "";
  return code;
}
template <class Call>
void refused(const char* words, const Call& call) {
  told.clear();
  must(PetscPushErrorHandler(keep_message, nullptr));
  const PetscErrorCode code = call();
  must(PetscPopErrorHandler());
  expect(code != PetscErrorCode(0) && told.find(words) != std::string::npos, words);
  if (told.find(words) == std::string::npos) std::printf("  it says: %s\n", told.c_str());
}

/// -laplace u + u on a square, with `wind` along its rows: |A^-1| is at most 1 / `rest`.
Mat plate(PetscInt side, double wind = 0, double rest = 1) {
  Mat A = nullptr;
  const PetscInt n = side * side;
  must(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 5, nullptr, &A));
  const auto set = [&](PetscInt i, PetscInt j, double value) { must(MatSetValue(A, i, j, value, INSERT_VALUES)); };
  for (PetscInt i = 0; i < n; ++i) {
    set(i, i, 4 + rest);
    if (i % side > 0) set(i, i - 1, -1 - wind);
    if (i % side < side - 1) set(i, i + 1, -1 + wind);
    if (i >= side) set(i, i - side, -1);
    if (i < n - side) set(i, i + side, -1);
  }
  must(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  must(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

constexpr double rtol = 1e-10;

/// One KSP of type whilst with its vectors.
struct solver {
  Mat A;
  KSP ksp = nullptr;
  Vec b = nullptr, x = nullptr, exact = nullptr;

  explicit solver(Mat matrix, const char* options = "", const char* pc = PCNONE) : A(matrix) {
    must(KSPCreate(PETSC_COMM_SELF, &ksp));
    PC of_ksp = nullptr;
    must(KSPGetPC(ksp, &of_ksp));
    must(PCSetType(of_ksp, pc));
    must(KSPSetType(ksp, whilst::petsc::type));
    must(whilst::petsc::set_options(ksp, options));
    must(KSPSetOperators(ksp, A, A));
    must(KSPSetTolerances(ksp, rtol, 1e-300, 1e8, 10000));
    must(MatCreateVecs(A, &x, &b));
    must(VecDuplicate(x, &exact));
    ramp();
  }
  void ramp() {
    PetscInt n = 0;
    must(VecGetSize(b, &n));
    for (PetscInt i = 0; i < n; ++i) must(VecSetValue(b, i, std::sin(1. + 3 * double(i)), INSERT_VALUES));
    must(VecAssemblyBegin(b));
    must(VecAssemblyEnd(b));
  }
  solver(const solver&) = delete;
  ~solver() {
    must(KSPDestroy(&ksp));
    for (Vec* v : {&b, &x, &exact}) must(VecDestroy(v));
    must(MatDestroy(&A));
  }

  KSPConvergedReason solve() {
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    must(KSPSolve(ksp, b, x));
    must(KSPGetConvergedReason(ksp, &reason));
    return reason;
  }
  PetscInt iterations() const {
    PetscInt count = 0;
    must(KSPGetIterationNumber(ksp, &count));
    return count;
  }
  /// The distance from what PETSc's LU finds, in units of rtol |b| |A^-1|: the tolerance's bound is 1.
  double distance(double rest = 1) {
    KSP direct = nullptr;
    PC lu = nullptr;
    must(KSPCreate(PETSC_COMM_SELF, &direct));
    must(KSPSetType(direct, KSPPREONLY));
    must(KSPGetPC(direct, &lu));
    must(PCSetType(lu, PCLU));
    must(KSPSetOperators(direct, A, A));
    must(KSPSolve(direct, b, exact));
    must(KSPDestroy(&direct));
    PetscReal apart = 0, size = 0;
    must(VecAXPY(exact, -1, x));
    must(VecNorm(exact, NORM_2, &apart));
    must(VecNorm(b, NORM_2, &size));
    return apart / (rtol * size / rest);
  }
};

void methods() {
  solver by_default(plate(21));
  expect(by_default.solve() == KSP_CONVERGED_RTOL && by_default.distance() <= 1.01, "it solves by default");
  const PetscInt first = by_default.iterations();
  must(KSPSetInitialGuessNonzero(by_default.ksp, PETSC_TRUE));
  expect(by_default.solve() == KSP_CONVERGED_RTOL && by_default.iterations() == 0, "it starts from x if told so");
  must(KSPSetInitialGuessNonzero(by_default.ksp, PETSC_FALSE));
  by_default.solve();
  expect(by_default.iterations() == first, "and from zero if not");
  solver with_wind(plate(21, 0.5), "method=bicgstab,preconditioner=jacobi");
  expect(with_wind.solve() == KSP_CONVERGED_RTOL && with_wind.distance() <= 1.01, "bicgstab solves");
  must(whilst::petsc::set_options(with_wind.ksp, "method=gmres,restart=50"));
  expect(with_wind.solve() == KSP_CONVERGED_RTOL && with_wind.distance() <= 1.01, "new options are heeded");
}

void preconditioners() {
  solver plain(plate(30, 0, 0.1), "method=cg"), theirs(plate(30, 0, 0.1), "method=cg", PCICC),
      ours(plate(30, 0, 0.1), "method=cg,preconditioner=ssor");
  for (solver* one : {&plain, &theirs, &ours})
    expect(one->solve() == KSP_CONVERGED_RTOL && one->distance(0.1) <= 1.01, "preconditioned solves");
  expect(2 * theirs.iterations() < plain.iterations(), "PETSc's preconditioner is used");
  expect(ours.iterations() < plain.iterations(), "Whilst's preconditioner is used");
  // PETSc's own conjugate gradients with the same preconditioner and norm.
  const PetscInt by_whilst = theirs.iterations();
  must(KSPSetType(theirs.ksp, KSPCG));
  must(KSPSetNormType(theirs.ksp, KSP_NORM_UNPRECONDITIONED));
  theirs.solve();
  expect(std::abs(by_whilst - theirs.iterations()) <= 1, "as many iterations as PETSc's conjugate gradients");
  solver named(plate(30, 0, 0.1), "method=cg,preconditioner=ssor", PCICC);
  expect(named.solve() == KSP_CONVERGED_RTOL && named.iterations() == ours.iterations(), "a named one prevails");
  must(whilst::petsc::set_options(named.ksp, "method=cg"));
  expect(named.solve() == KSP_CONVERGED_RTOL && named.iterations() == plain.iterations(), "and left nothing behind");
}

void changes() {
  solver one(plate(12), "method=cg");
  one.solve();
  must(MatScale(one.A, 3));  // and no KSPSetOperators
  expect(one.solve() == KSP_CONVERGED_RTOL && one.distance(3) <= 1.01, "new values are used");
  solver theirs(plate(12), "method=cg", PCJACOBI);
  theirs.solve();
  must(MatScale(theirs.A, 3));
  expect(theirs.solve() == KSP_CONVERGED_RTOL && theirs.distance(3) <= 1.01, "with PETSc's preconditioner, too");
  // The factors that the host makes, which solves read as they are.
  solver factors(plate(12), "method=cg,preconditioner=ic"), fresh(plate(12), "method=cg,preconditioner=ic");
  factors.solve();
  must(MatShift(factors.A, 30));
  must(MatShift(fresh.A, 30));
  factors.solve();
  fresh.solve();
  expect(factors.iterations() == fresh.iterations(), "a preconditioner is made from the new values");
  // A new entry, for which the matrix's arrays move.
  must(MatSetOption(one.A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  must(MatSetValue(one.A, 0, 77, -0.5, INSERT_VALUES));
  must(MatSetValue(one.A, 77, 0, -0.5, INSERT_VALUES));
  must(MatAssemblyBegin(one.A, MAT_FINAL_ASSEMBLY));
  must(MatAssemblyEnd(one.A, MAT_FINAL_ASSEMBLY));
  expect(one.solve() == KSP_CONVERGED_RTOL && one.distance(2) <= 1.01, "new entries are used");
  Mat other = plate(12, 0, 7);
  must(KSPSetOperators(one.ksp, other, other));
  must(MatDestroy(&one.A));
  one.A = other;
  expect(one.solve() == KSP_CONVERGED_RTOL && one.distance(7) <= 1.01, "another matrix is used");
  must(KSPReset(one.ksp));
  must(KSPSetOperators(one.ksp, other, other));
  expect(one.solve() == KSP_CONVERGED_RTOL && one.distance(7) <= 1.01, "and after a reset");
}

void null_space() {
  // A ring of springs: constants are its null space.
  const PetscInt n = 40;
  Mat A = nullptr;
  must(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 3, nullptr, &A));
  for (PetscInt i = 0; i < n; ++i) {
    must(MatSetValue(A, i, i, 2, INSERT_VALUES));
    must(MatSetValue(A, i, (i + 1) % n, -1, INSERT_VALUES));
    must(MatSetValue(A, i, (i + n - 1) % n, -1, INSERT_VALUES));
  }
  must(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  must(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  for (const bool as_vector : {false, true}) {
    MatNullSpace space = nullptr;
    Vec v = nullptr;
    must(MatCreateVecs(A, &v, nullptr));
    must(VecSet(v, 1 / std::sqrt(double(n))));
    must(MatNullSpaceCreate(PETSC_COMM_SELF, as_vector ? PETSC_FALSE : PETSC_TRUE, as_vector, &v, &space));
    must(MatSetNullSpace(A, space));
    must(MatNullSpaceDestroy(&space));
    must(VecDestroy(&v));
    must(PetscObjectReference(reinterpret_cast<PetscObject>(A)));  // the solver releases one
    solver ring(A, "method=cg");
    expect(ring.solve() == KSP_CONVERGED_RTOL, "a singular system is solved");
    PetscScalar sum = 0;
    must(VecSum(ring.x, &sum));
    expect(std::abs(sum) <= 1e-8, "by what is orthogonal to the null space");
  }
  must(MatDestroy(&A));
}

void memory() {
  solver one(plate(4), "method=cg,preconditioner=jacobi,executor=host"), theirs(plate(4), "method=cg", PCJACOBI);
  const auto both = [&] {
    for (solver* const each : {&one, &theirs}) {
      must(MatScale(each->A, 1));
      each->solve();
    }
  };
  expect(keeps_its_memory(10000, both), "memory stays the same");
  const auto all = [] { solver(plate(3), "method=cg", PCJACOBI).solve(); };
  expect(keeps_its_memory(3000, all), "a KSP gives its memory back");
}

PetscInt calls = 0;
PetscErrorCode count_calls(KSP, PetscInt, PetscReal, void*) {
  ++calls;
  return PetscErrorCode(0);
}

void ends() {
  solver one(plate(20), "method=cg");
  must(KSPMonitorSet(one.ksp, count_calls, nullptr, nullptr));
  one.solve();
  expect(calls == one.iterations() + 1, "a monitor is called for each iteration and the start");
  must(KSPSetTolerances(one.ksp, rtol, 1e-300, 1e8, 3));
  expect(one.solve() == KSP_DIVERGED_ITS && one.iterations() == 3, "the limit");
  PetscReal norm = 0, expected = 0;
  must(KSPGetResidualNorm(one.ksp, &norm));
  must(MatResidual(one.A, one.b, one.x, one.exact));
  must(VecNorm(one.exact, NORM_2, &expected));
  expect(std::abs(norm - expected) <= 1e-10 * expected, "the norm is the residual's");
  must(KSPSetTolerances(one.ksp, 1e-300, 1e-3, 1e8, 1000));
  expect(one.solve() == KSP_CONVERGED_ATOL, "the absolute tolerance");
  must(VecSetValue(one.b, 0, std::numeric_limits<double>::quiet_NaN(), INSERT_VALUES));
  expect(one.solve() == KSP_DIVERGED_NANORINF, "NaN");
  solver indefinite(plate(20, 0, -4), "method=cg");
  expect(indefinite.solve() == KSP_DIVERGED_INDEFINITE_MAT, "an indefinite matrix");
  solver tiny(plate(1), "method=cg");
  expect(tiny.solve() == KSP_CONVERGED_RTOL && tiny.distance() <= 1, "a single unknown");
}

PetscErrorCode own_test(KSP, PetscInt, PetscReal, KSPConvergedReason*, void*) { return PetscErrorCode(0); }
PetscErrorCode failing_apply(PC pc, Vec, Vec z) {
  must(PCSetFailedReason(pc, PC_SUBPC_ERROR));
  must(VecSet(z, std::numeric_limits<double>::infinity()));
  return PetscErrorCode(0);
}
PetscErrorCode erring_apply(PC, Vec, Vec) { return PETSC_ERR_USER; }

void untested() {
  solver one(plate(20), "method=cg"), skipped(plate(20), "method=cg"), theirs(plate(20), "method=cg");
  must(KSPSetTolerances(theirs.ksp, 1e-300, 1e-300, 1e8, 7));
  must(KSPSetType(theirs.ksp, KSPCG));
  theirs.solve();
  must(KSPSetNormType(one.ksp, KSP_NORM_NONE));
  must(KSPSetConvergenceTest(skipped.ksp, KSPConvergedSkip, nullptr, nullptr));
  for (solver* const each : {&one, &skipped}) {
    must(KSPSetTolerances(each->ksp, 0.5, 1e300, 1e8, 7));  // of no effect
    expect(each->solve() == KSP_CONVERGED_ITS && each->iterations() == 7, "without a norm the limit is the end");
    PetscReal apart = 0, size = 0;
    must(VecNorm(theirs.x, NORM_2, &size));
    must(VecAXPY(each->x, -1, theirs.x));
    must(VecNorm(each->x, NORM_2, &apart));
    expect(apart <= 1e-10 * size, "as PETSc's conjugate gradients after as many");
  }
}

void failing_preconditioners() {
  solver one(plate(6), "method=cg", PCSHELL);
  PC pc = nullptr;
  must(KSPGetPC(one.ksp, &pc));
  must(PCShellSetApply(pc, failing_apply));
  expect(one.solve() == KSP_DIVERGED_PC_FAILED, "a PC that failed");
  solver other(plate(6), "method=cg", PCSHELL);
  must(KSPGetPC(other.ksp, &pc));
  must(PCShellSetApply(pc, erring_apply));
  must(PetscPushErrorHandler(keep_message, nullptr));
  const PetscErrorCode code = KSPSolve(other.ksp, other.b, other.x);
  must(PetscPopErrorHandler());
  expect(code == PETSC_ERR_USER, "the code of a PC's error");
}

void misuse() {
  solver one(plate(4));
  refused("there is no option called 'speed'", [&] { return whilst::petsc::set_options(one.ksp, "speed=high"); });
  must(whilst::petsc::set_options(one.ksp, "method=best"));
  refused("there is no method called 'best'", [&] { return KSPSolve(one.ksp, one.b, one.x); });
  must(whilst::petsc::set_options(one.ksp, ""));
  expect(one.solve() == KSP_CONVERGED_RTOL, "it goes on after an error");
  must(KSPSetConvergenceTest(one.ksp, own_test, nullptr, nullptr));
  refused("a convergence test of its own", [&] { return KSPSolve(one.ksp, one.b, one.x); });
  void* context = nullptr;
  must(KSPConvergedDefaultCreate(&context));
  must(KSPSetConvergenceTest(one.ksp, KSPConvergedDefault, context, KSPConvergedDefaultDestroy));
  expect(one.solve() == KSP_CONVERGED_RTOL, "and on with PETSc's test");
  refused("transpose", [&] { return KSPSolveTranspose(one.ksp, one.b, one.x); });
  KSP other = nullptr;
  must(KSPCreate(PETSC_COMM_SELF, &other));
  must(KSPSetType(other, KSPCG));
  refused("not of type whilst", [&] { return whilst::petsc::set_options(other, ""); });
  must(KSPDestroy(&other));
  Mat dense = nullptr;
  must(MatConvert(one.A, MATSEQDENSE, MAT_INITIAL_MATRIX, &dense));
  solver of_dense(dense);
  refused("seqaij", [&] { return KSPSolve(of_dense.ksp, of_dense.b, of_dense.x); });
}

void from_command_line() {
  must(PetscOptionsSetValue(nullptr, "-mine_ksp_type", "whilst"));
  must(PetscOptionsSetValue(nullptr, "-mine_ksp_whilst_options", "method=minres,preconditioner=ssor"));
  Mat A = plate(9);
  solver reference(A, "method=cg");
  KSP ksp = nullptr;
  must(KSPCreate(PETSC_COMM_SELF, &ksp));
  must(KSPSetOptionsPrefix(ksp, "mine_"));
  must(KSPSetOperators(ksp, A, A));
  must(KSPSetFromOptions(ksp));
  must(KSPSetTolerances(ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  must(KSPSolve(ksp, reference.b, reference.x));
  expect(reference.distance() <= 1.01, "options of the command line");
  expect(whilst::petsc::detail::of(ksp).words().find("method minres, preconditioner ssor") == 0, "which words tell");
  must(KSPView(ksp, PETSC_VIEWER_STDOUT_SELF));
  must(KSPDestroy(&ksp));
}

}  // namespace

int main(int argument_count, char** arguments) {
  must(PetscInitialize(&argument_count, &arguments, nullptr, nullptr));
  must(whilst::petsc::register_solver());
  methods();
  preconditioners();
  changes();
  null_space();
  ends();
  untested();
  failing_preconditioners();
  misuse();
  from_command_line();
  memory();
  must(PetscFinalize());
  return passed ? 0 : 1;
}
