// compiled by nvcc where CUDA is on
#include "benchmarks/whilst-bench/spmv_runs.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>

#include "benchmarks/overheads/timing.hpp"
#include "solvers/linear/formats/formats.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/linear/matrix_on_place.hpp"

namespace whilst_bench {
namespace {

using whilst::buffer;
using whilst::csr_matrix;
using whilst::index_type;

constexpr index_type shorter = 10, longer = 110;  ///< products of a run

struct copy_entry {
  const double* from;
  double* to;
  WHILST_HD void operator()(index_type i) const { to[i] = from[i]; }
};

class stopwatch {
 public:
  explicit stopwatch(const std::string& executor) : how_(whilst::executor_from_name(executor)) {}

  /// Seconds of what `record` records, of which it gets a number. `prepare` is recorded once before.
  double time(whilst::place where, double budget, const std::function<void(whilst::workspace&)>& take_memory,
              const std::function<void(whilst::recorder&)>& prepare,
              const std::function<void(whilst::recorder&)>& record) const {
    const auto made = [&](index_type count) {
      whilst::program_recorder run(where);
      run.arena([&](whilst::arena_layout& memory) { take_memory(memory); });
      prepare(run);
      for (index_type k = 0; k < count; ++k) record(run);
      auto program = std::make_unique<whilst::program>(std::move(run).finish());
      program->prepare({.how = how_});
      return program;
    };
    const auto few = made(shorter), many = made(longer);
    const auto run = [&](index_type count) {
      whilst::program& program = count == shorter ? *few : *many;
      const auto began = std::chrono::steady_clock::now();
      program.enqueue(nullptr);
      program.wait();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    return overheads::time_iterations({shorter, longer}, budget, run).seconds_per_iteration;
  }

 private:
  whilst::executor how_;
};

template <class T>
class products {
 public:
  products(const csr_matrix<T>& A, const spmv_options& options)
      : A_(A),
        watch_(spmv_executor(options)),
        budget_(options.budget),
        where_(whilst::choose_executor({.executor = options.executor}, A.rows(), false, false).where),
        placed_(A, where_, true),
        given_(placed_.request().values),
        values_(where_, 1, &given_),
        x_(where_, A.columns(), some_vector(A.columns()).data()),
        y_(where_, A.rows()) {}

  spmv_run run(const std::string& format) {
    spmv_run result{.name = format};
    try {
      const double vectors = static_cast<double>(A_.rows() + A_.columns()) * sizeof(T);
      if (format == "csr") {
        const auto csr = csr_operator();
        result.bytes = csr_bytes() + vectors;
        time(result, *csr);
      } else {
        const auto made = whilst::make_formatted_matrix<T>(format, A_, placed_.request());
        result.bytes = static_cast<double>(made->bytes_a_product(all_in_float())) + vectors;
        time(result, *made);
      }
    } catch (const whilst::error& problem) {
      result.why_not = problem.what();
    }
    return result;
  }
  /// Of as many bytes as csr moves.
  spmv_run copy() const {
    spmv_run result{.name = "copy"};
    result.bytes = csr_bytes() + static_cast<double>(A_.rows() + A_.columns()) * sizeof(T);
    const auto count = static_cast<index_type>(result.bytes / 16) + 1;
    const buffer<double> from(where_, count), to(where_, count);
    const auto nothing = [](const auto&) {};
    result.seconds = watch_.time(where_, budget_, nothing, nothing, [&](whilst::recorder& run) {
      run.step("copy", count, copy_entry{from.data(), to.data()});
    });
    return result;
  }

 private:
  static std::vector<T> some_vector(index_type n) {
    std::vector<T> x(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(1 + 0.5 * std::sin(static_cast<double>(i)));
    return x;
  }
  std::unique_ptr<whilst::linear_operator<T>> csr_operator() const {
    const auto& request = placed_.request();
    return request.offsets_64 ? whilst::make_csr_operator<T>(where_, whilst::csr_of<std::int64_t>(request))
                              : whilst::make_csr_operator<T>(where_, whilst::csr_of<std::int32_t>(request));
  }
  bool all_in_float() const {
    return std::all_of(A_.values().begin(), A_.values().end(),
                       [](T value) { return static_cast<T>(static_cast<float>(value)) == value; });
  }
  double csr_bytes() const {
    const auto& request = placed_.request();
    return static_cast<double>(request.offsets_64 ? whilst::csr_of<std::int64_t>(request).bytes()
                                                  : whilst::csr_of<std::int32_t>(request).bytes());
  }
  void time(spmv_run& result, whilst::linear_operator<T>& by) {
    result.seconds = watch_.time(
        where_, budget_, [&](whilst::workspace& memory) { by.take_memory(memory); },
        [&](whilst::recorder& run) {
          by.read_values_from({values_.data()});
          by.prepare(run);
        },
        [&](whilst::recorder& run) { by.apply(run, x_.data(), y_.data()); });
    std::vector<T> y(static_cast<std::size_t>(A_.rows()));
    y_.download(y.data());
    if (first_.empty()) first_ = y;
    double size = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      size = std::max(size, std::abs(static_cast<double>(first_[i])));
      result.difference = std::max(result.difference, std::abs(static_cast<double>(y[i] - first_[i])));
    }
    if (size > 0) result.difference /= size;
  }

  const csr_matrix<T>& A_;
  stopwatch watch_;
  double budget_;
  whilst::place where_;
  whilst::matrix_on_place<T> placed_;
  const T* given_;
  buffer<const T*> values_;
  buffer<T> x_, y_;
  std::vector<T> first_;  ///< the first product
};

}  // namespace

std::string spmv_executor(const spmv_options& options) {
  return std::string(name(whilst::choose_executor({.executor = options.executor}, 1, false, false).how));
}

template <class T>
std::vector<spmv_run> run_products(const csr_matrix<T>& A, const std::vector<std::string>& formats,
                                   const spmv_options& options) {
  products<T> all(A, options);
  std::vector<spmv_run> results;
  for (const std::string& format : formats) results.push_back(all.run(format));
  results.push_back(all.copy());
  return results;
}

template std::vector<spmv_run> run_products(const csr_matrix<float>&, const std::vector<std::string>&,
                                            const spmv_options&);
template std::vector<spmv_run> run_products(const csr_matrix<double>&, const std::vector<std::string>&,
                                            const spmv_options&);

}  // namespace whilst_bench
