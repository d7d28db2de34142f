// compiled by nvcc where CUDA is on
#include "benchmarks/whilst-bench/spmv_runs.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "benchmarks/common/baselines_products.hpp"
#include "benchmarks/overheads/timing.hpp"
#include "benchmarks/whilst-bench/true_product.hpp"
#include "solvers/linear/formats/formats.hpp"
#include "whilst/host/choose_executor.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/linear/sliced_operator.hpp"

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

/// Times programs, and by the same method what others run.
class stopwatch {
 public:
  stopwatch(const std::string& executor, double budget) : how_(whilst::executor_from_name(executor)), budget_(budget) {}

  /// Of one of those of which run(count) makes so many; it returns the seconds of that.
  double time(const std::function<double(index_type count)>& run) const {
    return overheads::time_iterations({shorter, longer}, budget_, run).seconds_per_iteration;
  }
  /// Seconds of what `record` records. `prepare` is recorded once before.
  double time(whilst::place where, const std::function<void(whilst::workspace&)>& take_memory,
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
    return time([&](index_type count) {
      whilst::program& program = count == shorter ? *few : *many;
      const auto began = std::chrono::steady_clock::now();
      program.enqueue(nullptr);
      program.wait();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    });
  }

 private:
  whilst::executor how_;
  double budget_;
};

std::vector<double> some_vector(index_type n) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1 + 0.5 * std::sin(static_cast<double>(i));
  return x;
}

template <class T>
class products {
 public:
  products(const csr_matrix<T>& A, const spmv_options& options)
      : A_(A),
        watch_(spmv_executor(options), options.budget),
        where_(whilst::choose_executor({.executor = options.executor}, A.rows(), false, {}).where),
        placed_(A, where_, true),
        given_(placed_.request().values),
        values_(where_, 1, &given_),
        y_(where_, A.rows()) {
    const std::vector<double> x = some_vector(A.columns());
    x_on_host_.assign(x.begin(), x.end());
    x_ = buffer<T>(where_, A.columns(), x_on_host_.data());
    truth_ = std::make_unique<true_product<T>>(A, std::span<const T>(x_on_host_));
  }

  /// What "auto" takes for methods that have every format in its fastest form.
  whilst::format_choice automatic() const {
    whilst::format_rule rule;
    if (where_.on_host()) rule.least_bytes_in_slices = std::numeric_limits<index_type>::max();
    return whilst::choose_format(A_, placed_.request(), rule);
  }
  spmv_run run(const std::string& format) {
    spmv_run result{.library = "whilst", .format = format};
    try {
      if (format == "csr") {
        const auto csr = csr_operator();
        measure(result, *csr, csr_bytes());
      } else {
        const auto made = whilst::make_formatted_matrix<T>(format, A_, placed_.request());
        measure(result, *made, static_cast<double>(made->bytes_a_product(value_bytes())));
      }
    } catch (const whilst::error& problem) {
      result.why_not = problem.what();
    }
    return result;
  }
  /// By cuSPARSE; none on the host.
  std::vector<spmv_run> run_cusparse() const {
    std::vector<spmv_run> results;
    if (where_.on_host()) return results;
    const auto watch = [&](const auto& run) { return watch_.time(run); };
    for (auto& one : whilst::cusparse_products<T>(A_, x_on_host_, watch)) {
      spmv_run result{.library = "cusparse", .format = one.name, .why_not = std::move(one.why_not)};
      if (result.is_measured()) {
        result.seconds = one.seconds;
        result.bytes = one.bytes + vector_bytes();
        result.error = truth_->error_of(one.y);
      }
      results.push_back(std::move(result));
    }
    return results;
  }
  /// Of as many bytes as csr moves.
  void copy(spmv_entry& into) const {
    into.copy_bytes = csr_bytes() + vector_bytes();
    const auto count = static_cast<index_type>(into.copy_bytes / 16) + 1;
    const buffer<double> from(where_, count), to(where_, count);
    const auto nothing = [](const auto&) {};
    into.copy_seconds = watch_.time(where_, nothing, nothing, [&](whilst::recorder& run) {
      run.step("copy", count, copy_entry{from.data(), to.data()});
    });
  }

 private:
  std::unique_ptr<whilst::linear_operator<T>> csr_operator() const {
    const auto& request = placed_.request();
    return request.offsets_64 ? whilst::make_csr_operator<T>(where_, whilst::csr_of<std::int64_t>(request))
                              : whilst::make_csr_operator<T>(where_, whilst::csr_of<std::int32_t>(request));
  }
  int value_bytes() const {
    whilst::sums<double, 3> values{};
    for (const T value : A_.values()) values += whilst::choose_value_bytes::judge(static_cast<double>(value));
    int bytes = 0;
    whilst::choose_value_bytes{false, sizeof(T), &bytes}(values);
    return bytes;
  }
  double csr_bytes() const {
    const auto& request = placed_.request();
    return static_cast<double>(request.offsets_64 ? whilst::csr_of<std::int64_t>(request).bytes()
                                                  : whilst::csr_of<std::int32_t>(request).bytes());
  }
  double vector_bytes() const { return static_cast<double>(A_.rows() + A_.columns()) * sizeof(T); }

  void measure(spmv_run& result, whilst::linear_operator<T>& by, double matrix_bytes) {
    std::vector<T> y(static_cast<std::size_t>(A_.rows()), static_cast<T>(NAN));
    y_.upload(y.data());
    result.seconds = watch_.time(
        where_, [&](whilst::workspace& memory) { by.take_memory(memory); },
        [&](whilst::recorder& run) {
          by.read_values_from({values_.data()});
          by.prepare(run);
        },
        [&](whilst::recorder& run) { by.apply(run, x_.data(), y_.data()); });
    result.bytes = matrix_bytes + vector_bytes();
    y_.download(y.data());
    result.error = truth_->error_of(y);
  }

  const csr_matrix<T>& A_;
  stopwatch watch_;
  whilst::place where_;
  whilst::matrix_on_place<T> placed_;
  const T* given_;
  buffer<const T*> values_;
  std::vector<T> x_on_host_;
  buffer<T> x_, y_;
  std::unique_ptr<true_product<T>> truth_;
};

}  // namespace

std::string spmv_executor(const spmv_options& options) {
  return std::string(name(whilst::choose_executor({.executor = options.executor}, 1, false, {}).how));
}

template <class T>
void run_products(const csr_matrix<T>& A, const std::vector<std::string>& formats, const spmv_options& options,
                  spmv_entry& into) {
  products<T> all(A, options);
  const whilst::format_choice automatic = all.automatic();
  into.automatic = automatic.format;
  into.why_automatic = automatic.why;
  for (const std::string& format : formats) into.runs.push_back(all.run(format));
  for (spmv_run& one : all.run_cusparse()) into.runs.push_back(std::move(one));
  all.copy(into);
}

template void run_products(const csr_matrix<float>&, const std::vector<std::string>&, const spmv_options&, spmv_entry&);
template void run_products(const csr_matrix<double>&, const std::vector<std::string>&, const spmv_options&,
                           spmv_entry&);

}  // namespace whilst_bench
