#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "whilst/linear/csr_matrix.hpp"
#include "whilst/linear/linear_operator.hpp"
#include "whilst/linear/linear_solver.hpp"
#include "whilst/linear/recorded_solve.hpp"

namespace whilst {

/// Matrix formats of a linear solver. "csr" reads the arrays as they were given, in the same kernels as the methods'
/// vectors. Every other one is a linear_operator with a layout of its own, made once from the pattern; each solve
/// begins by gathering the present CSR values into it, so that values change as they do with "csr". "balanced" reads
/// the CSR arrays themselves. "ell" is made anew by each solve, pattern and all; some methods have it in the same
/// kernels as their vectors, like "csr".
///
///   bsr        blocks of 2 x 2 to 6 x 6, one column index each
///   sell       SELL-C-sigma: slices of 32 rows, stored by columns; rows of similar length side by side
///   ell        slices of rows in their own order, as wide as a warp reads at once: see sliced_operator
///   balanced   tiles of about as many nonzeros, whatever the rows' lengths
///
/// docs/formats.md has what each stores and when it pays.

inline constexpr std::string_view automatic_format = "auto", csr_format = "csr";

/// All names, "auto" first.
std::vector<std::string> format_names();
/// Throws whilst::error on a name that is not one of them. `doing` opens the message.
void check_format(std::string_view doing, std::string_view format);
/// Whether a solve in one kernel, resident or of a batch, can have it: "csr", and "auto", which is csr there.
bool is_format_for_kernels(std::string_view format);

struct format_choice {
  std::string format;
  std::string why;  ///< "since its nonzeros form full blocks of 3 x 3"
};

/// When "auto" leaves csr. Estimates from bytes and from an H200's latencies, to be tuned by measurements.
struct format_rule {
  /// Blocks: below this many nonzeros a matrix is not much larger than a GPU's L2 cache, and fused kernels count more
  /// than bytes.
  index_type least_nonzeros = 10'000'000;
  int least_block = 3;  ///< rows of a block; smaller ones save less than the fused kernels
  /// Blocks stored for each there is, since slices are as wide as their longest row; beyond, csr reads as little.
  double most_padding = 1.2;
  /// Slices of rows: a matrix with fewer bytes lies in a GPU's L2 cache;
  index_type least_bytes_in_slices = 48'000'000;
  /// a product reads at most so many entries for each nonzero, and the columns of csr in at most such a part of slices;
  double most_fill_of_slices = 1.1, most_far_slices = 0.1;
  /// and the copy, of which method "auto" may need three, takes at most such a part of the memory that is free.
  double most_of_free_memory = 0.2;
  /// Skewed rows: a thread of the longest row has at least so many entries, which it reads 7 at a time, about a
  /// microsecond each,
  index_type least_entries_a_thread = 512;
  /// and more than this part of all nonzeros; a thread's fair share is about a 250 000th.
  double least_part = 1e-4;
};

/// Format "auto" for a matrix in host memory, by its pattern: "balanced", "bsr", "ell" or "csr", for methods that have
/// "ell" in their own kernels. One pass over the row offsets, and over the column indices as long as these form blocks.
/// placed: the same on its place, which looks at all of it for "ell".
template <class T>
format_choice choose_format(const csr_matrix<T>& A, const solve_request<T>& placed, const format_rule& rule = {});

/// The format of a linear solver with these options on this executor: the one named, or what "auto" takes. csr where no
/// other can be had or be better. For a matrix in device memory ell or csr, since only a format asked for by name is
/// worth a copy of the pattern to the host. placed: the matrix on its place.
template <class T>
format_choice format_for(const csr_matrix<T>& A, const solve_request<T>& placed, const linear_solver_options& options,
                         executor how);

/// A matrix in a format other than csr, on the place of a CSR matrix whose arrays it needs as long as it lives.
template <class T>
class formatted_matrix : public linear_operator<T> {
 public:
  /// Memory of its place, without the values: these are the programs', each of which has its own, or CSR's.
  virtual index_type bytes() const = 0;
  /// What a product reads of the matrix, and what it writes besides y, if every value fits so many bytes: 2 or 4, which
  /// "ell" makes use of, and "sell" of 4, or those of T. See choose_value_bytes.
  virtual index_type bytes_a_product(int value_bytes) const = 0;
};

/// Whether a format is laid out on the host, from the pattern there.
inline bool needs_pattern(std::string_view format) { return format != "ell"; }
/// Lays out a matrix. format: any but "auto" and "csr". pattern: in host memory, if the format needs it; its values are
/// not read. csr: the same matrix on its place. in_float: with values rounded to float, which "sell" and "ell" can.
/// Throws whilst::error if the format cannot hold it: more than about 2^31 stored entries, or no blocks for "bsr".
template <class T>
std::unique_ptr<formatted_matrix<T>> make_formatted_matrix(std::string_view format, const csr_matrix<T>& pattern,
                                                           const solve_request<T>& csr, bool in_float = false);
/// Whether a format can round values to float.
inline bool has_float_values(std::string_view format) { return format == "sell" || format == "ell"; }

/// The formats by themselves; see their files.
template <class T>
std::unique_ptr<formatted_matrix<T>> make_bsr_matrix(const csr_matrix<T>& pattern, const solve_request<T>& csr);
template <class T>
std::unique_ptr<formatted_matrix<T>> make_sell_matrix(const csr_matrix<T>& pattern, const solve_request<T>& csr,
                                                      bool in_float);
template <class T>
std::unique_ptr<formatted_matrix<T>> make_ell_matrix(const solve_request<T>& csr, bool in_float);
template <class T>
std::unique_ptr<formatted_matrix<T>> make_balanced_matrix(const csr_matrix<T>& pattern, const solve_request<T>& csr);

}  // namespace whilst
