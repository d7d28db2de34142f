#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "whilst/host/report.hpp"
#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/preconditioners.hpp"

namespace whilst {

/// Preconditioner "auto" of a linear solver: which pairs of a method and a preconditioner it tries, one after another.

/// Both as options name them: {"gmres", "ilu,drop=1e-5"}.
struct solver_pair {
  std::string method, preconditioner;
  bool operator==(const solver_pair&) const = default;
};

/// A pair that is tried.
struct solver_attempt {
  solver_pair pair = {};
  std::string why = {};            ///< for the one that begins: "since the matrix is not symmetric"
  index_type most_iterations = 0;  ///< of its own, as long as others are left to go on; 0 for no such limit
  /// Its factors are as good as complete: where rounding ends such a solve after good progress, no pair does better.
  bool is_nearly_direct = false;
};

/// What the choice looks at.
struct matrix_traits {
  index_type rows = 0, nonzeros = 0;
  bool is_finite = true;
  bool is_symmetric = false;
  bool has_diagonal_of_one_sign = false;
  /// Nearly an M-matrix, as diffusion makes it: beside the diagonal, entries of its sign are at most a tenth of the
  /// others, by the sum of their sizes; and no row's are more than 1.01 times its diagonal, nor is there a 0 on that.
  bool is_like_m_matrix = false;
  /// In each row and each column, the diagonal is at least twice the sum of the others' sizes.
  bool is_dominant = false;
  bool knows_nodes = false;  ///< options of amg tell of nodes with several unknowns, or of the near-null space
  double size = 0;           ///< at least ||A||_2: the geometric mean of its 1-norm and its infinity-norm
};

/// For a square matrix in host memory, perhaps with other values. One pass over the entries, and what is_symmetric
/// takes.
template <class T>
matrix_traits traits_of(const csr_matrix<T>& pattern, std::span<const T> values);

/// The attempts for a matrix, at least one. named: the method, if that is not "auto": the attempts are those of its
/// preconditioners.
///
///   A is                              begins            goes on with
///   dominant, 10 000 rows or more     cg or bicgstab, jacobi
///   like an M-matrix, or with nodes   cg or bicgstab, amg
///   that are known, as large
///   symmetric, its diagonal of one    cg, ic            gmres with nearly complete ilu; cg, then minres with jacobi
///   sign
///   square otherwise                  gmres, ilu        gmres with nearly complete ilu, then with more of an
///   incomplete
///                                                       one; for symmetric A minres, else bicgstab and gmres, with
///                                                       jacobi
///
/// Beyond 20 million nonzeros there are no incomplete factors, and beyond 200 000 rows none that are nearly complete.
std::vector<solver_attempt> attempts_for(const matrix_traits& A, std::string_view named, const method_needs& needs);

/// Whether the next attempt goes on after one that ended so.
bool goes_on_after(const report_fields& ended, const solver_attempt& of);

}  // namespace whilst
