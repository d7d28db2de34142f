#pragma once

#include <cstddef>
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
  /// Its factors are as good as complete. Where rounding ends such a solve after good progress, and nothing tells how
  /// much of the residual that is, no pair does better.
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
  /// Each row has an entry on the diagonal of a millionth of its largest at least.
  bool has_whole_diagonal = false;
  /// In each row and each column, the diagonal is at least twice the sum of the others' sizes.
  bool is_dominant = false;
  bool knows_nodes = false;  ///< options of amg tell of nodes with several unknowns, or of the near-null space
  /// amg as options set it is no symmetric M, or changes from one iteration to the next: only flexible methods take it.
  bool wants_flexible = false;
  double size = 0;  ///< at least ||A||_2: the geometric mean of its 1-norm and its infinity-norm
};

/// For a square matrix in host memory, perhaps with other values. One pass over the entries, and what is_symmetric
/// takes.
template <class T>
matrix_traits traits_of(const csr_matrix<T>& pattern, std::span<const T> values);

/// The attempts for a matrix, at least one. named: the method, if that is not "auto": the attempts are those of its
/// preconditioners. docs/preconditioners.md, "auto", has the table. What cannot be made, or would take too much, is
/// found out by making it: see factorization_bounds.
std::vector<solver_attempt> attempts_for(const matrix_traits& A, std::string_view named, const method_needs& needs);

/// Whether the next attempt goes on after one that ended so. rounding: what rounding x may add to the residual; 0 if
/// that is not known.
bool goes_on_after(const report_fields& ended, const solver_attempt& of, double rounding);

/// The attempts for a matrix, and what became of them in solves with its values.
class attempts_in_turn {
 public:
  /// Others take their place. If they are for the same pairs, the one that begins remains.
  void replace(std::vector<solver_attempt> attempts);
  /// The matrix has other values: what failed or was refused may do now.
  void forget();

  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  const solver_attempt& operator[](std::size_t k) const { return all_[k]; }
  std::size_t first() const { return first_; }

  /// The order in which a solve tries them: the first, those after it, those before it; then those that have failed;
  /// then those without a limit of their own. Those that were refused are not among them.
  std::vector<std::size_t> order() const;

  void begin_with(std::size_t k) { first_ = k; }
  void note_failed(std::size_t k) { has_failed_[k] = true; }
  void note_refused(std::size_t k) { is_refused_[k] = true; }
  bool is_refused(std::size_t k) const { return is_refused_[k]; }

 private:
  std::vector<solver_attempt> all_;
  std::size_t first_ = 0;
  std::vector<char> has_failed_, is_refused_;
};

}  // namespace whilst
