#include "solvers/c/given_arrays.hpp"
#include "solvers/c/reports.hpp"
#include "whilst/files/options_text.hpp"
#include "whilst/linear/distributed/distributed_linear_solver.hpp"

namespace whilst::c {
namespace {

struct distributed_content {
  std::variant<distributed_csr_matrix<float>, distributed_csr_matrix<double>> matrix;
};

void keep(whilst_distributed_matrix** handle, distributed_content matrix) {
  make_handle(std::make_shared<distributed_content>(std::move(matrix)), handle);
}

template <class Use>
void with_matrix(const whilst_distributed_matrix* handle, const Use& use) {
  std::visit(use, content_of<distributed_content>(handle, "matrix")->matrix);
}

/// A caller's integers, copied: the group's calls come after all have been looked at.
class kept_integers {
 public:
  void read(const void* data, std::size_t length, int bits, int base, const char* name) {
    use_integers(data, length, bits, base, name, [&]<class Integer>(std::span<const Integer> given) {
      all_.emplace<std::vector<Integer>>(given.begin(), given.end());
    });
  }
  index_type last() const {
    return std::visit([](const auto& all) { return static_cast<index_type>(all.back()); }, all_);
  }
  integer_array view() const {
    return std::visit([](const auto& all) { return integer_array(std::span(all)); }, all_);
  }

 private:
  std::variant<std::vector<std::int32_t>, std::vector<std::int64_t>> all_;
};

template <class T>
class any_distributed final : public solver_of_ranks<distributed_linear_solver<T>> {
 public:
  any_distributed(const distributed_csr_matrix<T>& A, const linear_solver_options& options, double limit_seconds)
      : solver_of_ranks<distributed_linear_solver<T>>(distributed_linear_solver<T>(A, options, limit_seconds)),
        matrix_(A) {}
  report_content solve(given_vector b, given_vector x) override {
    const index_type rows = matrix_.halo().own;
    return report_content_of(this->solver_.solve(entries<T>(b, rows), writable_entries<T>(x, rows)));
  }
  ticket_content enqueue(stream_handle stream, const void* b, void* x) override {
    return ticket_content_of(this->solver_.enqueue(stream, static_cast<const T*>(b), static_cast<T*>(x)));
  }
  /// On all ranks at once: a wrong length on one is refused on all.
  void update_values(given_vector values) override {
    if (values.length > 0) given(values.data, values.name);
    matrix_.update_values({static_cast<const T*>(values.data), length_of(values.length, "length")});
    this->solver_.update_values(matrix_);
  }
  void set_tolerances(double rtol, double atol) override { this->solver_.set_tolerances(rtol, atol); }

 private:
  distributed_csr_matrix<T> matrix_;  ///< whose values an update changes
};

}  // namespace
}  // namespace whilst::c

extern "C" {

whilst_status whilst_distributed_matrix_create(const whilst_group* ranks, whilst_number number, int64_t first_row,
                                               int64_t rows, int64_t nonzeros, const void* row_offsets, int offset_bits,
                                               const void* column_indices, int index_bits, int index_base,
                                               const void* values, whilst_distributed_matrix** matrix) {
  using namespace whilst::c;
  return guarded_making(__func__, matrix, "matrix", [&] {
    const auto all = content_of<whilst::group>(ranks, "group");
    kept_integers offsets, columns;
    all->agree("reading the rows of a distributed matrix", [&] {
      check_base(index_base);
      offsets.read(row_offsets, length_of(rows, "rows") + 1, offset_bits, index_base, "row_offsets");
      check_nonzeros(offsets.last(), nonzeros);
      columns.read(column_indices, length_of(nonzeros, "nonzeros"), index_bits, index_base, "column_indices");
      with_number(number, [&](auto zero) { values_given<decltype(zero)>(values, nonzeros); });
    });
    with_number(number, [&](auto zero) {
      using T = decltype(zero);
      keep(matrix, {whilst::distributed_csr_matrix<T>(*all, first_row - index_base, offsets.view(), columns.view(),
                                                      values_given<T>(values, nonzeros))});
    });
  });
}

whilst_status whilst_distributed_matrix_split(const whilst_group* ranks, whilst_number number,
                                              const whilst_matrix* whole, whilst_distributed_matrix** matrix) {
  using namespace whilst::c;
  return guarded_making(__func__, matrix, "matrix", [&] {
    const auto all = content_of<whilst::group>(ranks, "group");
    with_number(number, [&](auto zero) {
      using T = decltype(zero);
      std::shared_ptr<matrix_content> content;
      const whilst::csr_matrix<T>* of_rank_0 = nullptr;
      all->agree("splitting a matrix", [&] {
        if (all->rank() != 0) return;
        content = content_of<matrix_content>(whole, "whole");
        of_rank_0 = std::get_if<whilst::csr_matrix<T>>(&content->matrix);
        if (!of_rank_0) refuse("the matrix has numbers of the other type", "Pass the number that it was made with");
      });
      keep(matrix, {whilst::distributed_csr_matrix<T>::from_rank_0(*all, of_rank_0)});
    });
  });
}

whilst_status whilst_distributed_matrix_size(const whilst_distributed_matrix* matrix, int64_t* rows_of_all,
                                             int64_t* first_row, int64_t* rows, int64_t* nonzeros, int64_t* ghosts) {
  using namespace whilst::c;
  return guarded(__func__, [&] {
    with_matrix(matrix, [&](const auto& A) {
      if (rows_of_all) *rows_of_all = A.partition().rows();
      if (first_row) *first_row = A.partition().first(A.ranks().rank());
      if (rows) *rows = A.halo().own;
      if (nonzeros) *nonzeros = A.local().nonzeros();
      if (ghosts) *ghosts = static_cast<int64_t>(A.halo().ghosts.size());
    });
  });
}

whilst_status whilst_distributed_matrix_destroy(whilst_distributed_matrix** matrix) {
  return whilst::c::destroy<whilst::c::distributed_content>(__func__, matrix, "matrix");
}

whilst_status whilst_distributed_solver_create(const whilst_distributed_matrix* matrix, const char* options,
                                               double peer_limit_seconds, whilst_solver** solver) {
  using namespace whilst::c;
  return guarded_making(__func__, solver, "solver", [&] {
    with_matrix(matrix, [&]<class T>(const whilst::distributed_csr_matrix<T>& A) {
      whilst::linear_solver_options read;
      A.ranks().agree("reading the options of a distributed solver",
                      [&] { read = whilst::options_from_string<whilst::linear_solver_options>(text_of(options)); });
      make_solver_handle(solver, std::make_shared<any_distributed<T>>(A, read, peer_limit_seconds));
    });
  });
}
}
