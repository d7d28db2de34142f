#include "whilst/linear/distributed/row_parts.hpp"

#include <string>

#include "solvers/linear/distributed/equal_work.hpp"
#include "solvers/linear/factorization/sparse_rows.hpp"
#include "solvers/linear/permutation/permutation.hpp"
#include "whilst/basics/error.hpp"

namespace whilst {

namespace {

constexpr const char* parting_rows = "dividing rows among ranks";

template <class T>
void require_square(const csr_matrix<T>& A) {
  if (A.is_on_device()) throw error(parting_rows, "the matrix is in device memory", "Give one in host memory");
  if (A.rows() == A.columns()) return;
  throw error(parting_rows,
              "the matrix has " + std::to_string(A.rows()) + " rows and " + std::to_string(A.columns()) + " columns",
              "Give a square one");
}

}  // namespace

template <class T>
row_graph graph_of_rows(const csr_matrix<T>& A) {
  require_square(A);
  const std::vector<T> ones(static_cast<std::size_t>(A.nonzeros()), T(1));  // an entry counts, whatever its value
  const factorization::sparse_rows both = factorization::symmetric_part(factorization::sparse_rows_of(A, ones.data()));
  row_graph made;
  made.neighbours.reserve(both.columns.size());
  for (index_type i = 0; i < A.rows(); ++i) {
    for (std::size_t e = both.begin(i); e < both.end(i); ++e)
      if (both.columns[e] != i) made.neighbours.push_back(both.columns[e]);
    made.offsets.push_back(static_cast<std::int64_t>(made.neighbours.size()));
    made.work.push_back(work_of_row(A, i));
  }
  return made;
}

template <class T>
std::vector<int> parts_by_rcm(const csr_matrix<T>& A, int ranks) {
  require_square(A);
  if (ranks < 1) throw error(parting_rows, "there are " + std::to_string(ranks) + " ranks", "Give 1 or more");
  const factorization::indices order = find_permutation(parting_rows, "rcm", A).rows;
  const auto row = [&](index_type k) { return order[static_cast<std::size_t>(k)]; };
  const std::vector<index_type> first = cut_by_work(A, ranks, row);
  std::vector<int> rank_of_row(order.size());
  for (int q = 0; q < ranks; ++q)
    for (index_type k = first[static_cast<std::size_t>(q)]; k < first[static_cast<std::size_t>(q) + 1]; ++k)
      rank_of_row[static_cast<std::size_t>(row(k))] = q;
  return rank_of_row;
}

template row_graph graph_of_rows(const csr_matrix<float>&);
template row_graph graph_of_rows(const csr_matrix<double>&);
template std::vector<int> parts_by_rcm(const csr_matrix<float>&, int);
template std::vector<int> parts_by_rcm(const csr_matrix<double>&, int);

}  // namespace whilst
