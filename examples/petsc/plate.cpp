/// plate: a heated plate with cooled edges, assembled by PETSc. KSP type "whilst" solves; -ksp_whilst_options chooses
/// how.

#include <petscksp.h>
#include <whilst/adapters/petsc.hpp>

int main(int argument_count, char** arguments) {
  PetscCall(PetscInitialize(&argument_count, &arguments, nullptr, nullptr));
  PetscCall(whilst::petsc::register_solver());

  const PetscInt side = 63, n = side * side;
  Mat A;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 5, nullptr, &A));
  for (PetscInt i = 0; i < n; ++i) {
    PetscCall(MatSetValue(A, i, i, 4, INSERT_VALUES));
    if (i % side > 0) PetscCall(MatSetValue(A, i, i - 1, -1, INSERT_VALUES));
    if (i % side < side - 1) PetscCall(MatSetValue(A, i, i + 1, -1, INSERT_VALUES));
    if (i >= side) PetscCall(MatSetValue(A, i, i - side, -1, INSERT_VALUES));
    if (i < n - side) PetscCall(MatSetValue(A, i, i + side, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  Vec b, u;
  PetscCall(MatCreateVecs(A, &u, &b));
  PetscCall(VecSet(b, 1. / ((side + 1) * (side + 1))));

  KSP solver;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &solver));
  PetscCall(KSPSetOperators(solver, A, A));
  PetscCall(KSPSetType(solver, whilst::petsc::type));
  PetscCall(whilst::petsc::set_options(solver, "method=cg, preconditioner=ssor"));
  PetscCall(KSPSetTolerances(solver, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(solver));
  PetscCall(KSPSolve(solver, b, u));

  PetscInt iterations, middle = n / 2;
  PetscScalar value;
  KSPConvergedReason reason;
  PetscCall(KSPGetIterationNumber(solver, &iterations));
  PetscCall(KSPGetConvergedReason(solver, &reason));
  PetscCall(VecGetValues(u, 1, &middle, &value));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s after %d iterations, in the middle %.4f\n", KSPConvergedReasons[reason],
                        static_cast<int>(iterations), static_cast<double>(value)));
  PetscCall(KSPDestroy(&solver));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(PetscFinalize());
  return reason > 0 ? 0 : 2;
}
