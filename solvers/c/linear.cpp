#include "solvers/c/reports.hpp"
#include "whilst/files/options_text.hpp"
#include "whilst/linear/columns_linear_solver.hpp"
#include "whilst/linear/eigenvalue_solver.hpp"
#include "whilst/linear/linear_solver.hpp"

namespace whilst::c {
namespace {

linear_solver_options linear_options(const char* text) {
  return options_from_string<linear_solver_options>(text_of(text));
}

template <class T>
const T* numbers(const void* data) {
  return static_cast<const T*>(data);
}
template <class T>
T* numbers(void* data) {
  return static_cast<T*>(data);
}

template <class T>
class any_linear final : public solver_of<linear_solver<T>> {
 public:
  /// nonzeros: -1 without a matrix.
  any_linear(linear_solver<T> solver, index_type rows, index_type columns, index_type nonzeros)
      : solver_of<linear_solver<T>>(std::move(solver)), rows_(rows), columns_(columns), nonzeros_(nonzeros) {}
  report_content solve(given_vector b, given_vector x) override {
    return report_content_of(this->solver_.solve(entries<T>(b, rows_), writable_entries<T>(x, columns_)));
  }
  ticket_content enqueue(stream_handle stream, const void* b, void* x) override {
    return ticket_content_of(this->solver_.enqueue(stream, numbers<T>(b), numbers<T>(x)));
  }
  void update_values(given_vector values) override {
    if (nonzeros_ < 0) return any_solver::update_values(values);
    this->solver_.update_values(entries<T>(values, nonzeros_));
  }
  void bind_values(const void* values) override { this->solver_.bind_values(numbers<T>(values)); }
  void set_tolerances(double rtol, double atol) override { this->solver_.set_tolerances(rtol, atol); }

 private:
  index_type rows_, columns_, nonzeros_;
};

template <class T>
class any_columns final : public solver_of<columns_linear_solver<T>> {
 public:
  any_columns(const csr_matrix<T>& A, index_type columns, const char* options)
      : solver_of<columns_linear_solver<T>>({A, columns, linear_options(options)}),
        b_length_(A.rows() * columns),
        x_length_(A.columns() * columns),
        nonzeros_(A.nonzeros()) {}
  report_content solve(given_vector b, given_vector x) override {
    return report_content_of(this->solver_.solve(entries<T>(b, b_length_), writable_entries<T>(x, x_length_)));
  }
  ticket_content enqueue(stream_handle stream, const void* b, void* x) override {
    return ticket_content_of(this->solver_.enqueue(stream, numbers<T>(b), numbers<T>(x)));
  }
  void update_values(given_vector values) override { this->solver_.update_values(entries<T>(values, nonzeros_)); }
  void set_tolerances(double rtol, double atol) override { this->solver_.set_tolerances(rtol, atol); }

 private:
  index_type b_length_, x_length_, nonzeros_;
};

template <class T>
class any_eigenvalues final : public solver_of<eigenvalue_solver<T>> {
 public:
  any_eigenvalues(const csr_matrix<T>& A, const eigenvalue_options& options)
      : solver_of<eigenvalue_solver<T>>(eigenvalue_solver<T>(A, options)),
        x_length_(A.rows() * options.count),
        nonzeros_(A.nonzeros()) {}
  report_content solve(given_vector b, given_vector x) override {
    check_no_b(b);
    return report_content_of(this->solver_.solve(writable_entries<T>(x, x_length_)));
  }
  ticket_content enqueue(stream_handle stream, const void* b, void* x) override {
    check_no_b({"b", b, 0});
    return ticket_content_of(this->solver_.enqueue(stream, numbers<T>(x)));
  }
  void update_values(given_vector values) override { this->solver_.update_values(entries<T>(values, nonzeros_)); }
  void set_tolerances(double rtol, double atol) override {
    if (atol != 0) refuse("eigenvalues have no absolute tolerance", "Pass 0 as atol");
    this->solver_.set_tolerance(rtol);
  }

 private:
  index_type x_length_, nonzeros_;
};

/// Has `make` called with the matrix of a handle.
template <class Make>
void with_matrix(const whilst_matrix* handle, const Make& make) {
  std::visit(make, content_of<matrix_content>(handle, "matrix")->matrix);
}

/// The caller's product as the library calls it. Empty for NULL.
template <class T>
std::function<void(stream_handle, index_type, const T*, T*)> called(const char* name, whilst_apply apply, void* user,
                                                                    index_type rows, index_type columns) {
  if (!apply) return {};
  return [=](stream_handle stream, index_type, const T* x, T* y) {
    check_callback(name, apply(user, stream, rows, columns, x, y));
  };
}

linear_solver_options options_of_callbacks(const char* text, whilst_memory memory) {
  linear_solver_options options = linear_options(text);
  options.callback_memory = is_host(memory) ? "host" : "device";
  return options;
}

}  // namespace
}  // namespace whilst::c

extern "C" {

whilst_status whilst_linear_create(const whilst_matrix* matrix, const char* options, whilst_solver** solver) {
  using namespace whilst::c;
  return guarded_making(__func__, solver, "solver", [&] {
    with_matrix(matrix, [&]<class T>(const whilst::csr_matrix<T>& A) {
      make_solver_handle(solver, std::make_shared<any_linear<T>>(whilst::linear_solver<T>(A, linear_options(options)),
                                                                 A.rows(), A.columns(), A.nonzeros()));
    });
  });
}

whilst_status whilst_linear_create_preconditioned(const whilst_matrix* matrix, whilst_memory memory, whilst_apply M,
                                                  void* user, const char* options, whilst_solver** solver) {
  using namespace whilst::c;
  return guarded_making(__func__, solver, "solver", [&] {
    given(M, "M");
    with_matrix(matrix, [&]<class T>(const whilst::csr_matrix<T>& A) {
      whilst::linear_solver<T> made(A, called<T>("M", M, user, A.columns(), A.columns()),
                                    options_of_callbacks(options, memory));
      make_solver_handle(solver, std::make_shared<any_linear<T>>(std::move(made), A.rows(), A.columns(), A.nonzeros()));
    });
  });
}

whilst_status whilst_linear_create_operator(whilst_number number, whilst_memory memory, int64_t rows, int64_t columns,
                                            whilst_apply A, whilst_apply A_transposed, whilst_apply M, void* user,
                                            const char* options, whilst_solver** solver) {
  using namespace whilst::c;
  return guarded_making(__func__, solver, "solver", [&] {
    given(A, "A");
    if (A_transposed && M) refuse("A_transposed and M are both given", "Pass NULL as one of them");
    if (!A_transposed && rows != columns)
      refuse("the operator has " + std::to_string(rows) + " rows and " + std::to_string(columns) + " columns",
             "Pass A_transposed, too, or a square operator");
    const auto read = options_of_callbacks(options, memory);
    with_number(number, [&](auto zero) {
      using T = decltype(zero);
      const auto product = called<T>("A", A, user, rows, columns);
      const auto make = [&] {
        if (A_transposed)
          return whilst::linear_solver<T>(rows, columns, product,
                                          called<T>("A_transposed", A_transposed, user, columns, rows), read);
        if (M) return whilst::linear_solver<T>(rows, product, called<T>("M", M, user, rows, rows), read);
        return whilst::linear_solver<T>(rows, product, read);
      };
      make_solver_handle(solver, std::make_shared<any_linear<T>>(make(), rows, columns, -1));
    });
  });
}

whilst_status whilst_columns_create(const whilst_matrix* matrix, int64_t columns, const char* options,
                                    whilst_solver** solver) {
  using namespace whilst::c;
  return guarded_making(__func__, solver, "solver", [&] {
    with_matrix(matrix, [&]<class T>(const whilst::csr_matrix<T>& A) {
      make_solver_handle(solver, std::make_shared<any_columns<T>>(A, columns, options));
    });
  });
}

whilst_status whilst_eigenvalues_create(const whilst_matrix* matrix, const char* options, whilst_solver** solver) {
  using namespace whilst::c;
  return guarded_making(__func__, solver, "solver", [&] {
    const auto read = whilst::options_from_string<whilst::eigenvalue_options>(text_of(options));
    with_matrix(matrix, [&]<class T>(const whilst::csr_matrix<T>& A) {
      make_solver_handle(solver, std::make_shared<any_eigenvalues<T>>(A, read));
    });
  });
}
}
