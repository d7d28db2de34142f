// compiled by nvcc where CUDA is on
#include "benchmarks/common/baselines_products.hpp"

#if WHILST_WITH_CUDA && WHILST_BASELINES_HAVE_LIBRARIES

#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

#include "benchmarks/common/baselines_cusparse.hpp"
#include "benchmarks/common/baselines_parts.hpp"
#include "benchmarks/common/product_layouts.hpp"

namespace whilst {
namespace {

using baselines::call;
using baselines::owned;

template <class T>
constexpr cudaDataType type_of = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;

/// Runs of a given number of products, each in a graph if they can be captured.
class product_runs {
 public:
  product_runs(cudaStream_t stream, const std::function<void()>& product) : stream_(stream), product_(product) {
    product_();  // what is loaded at the first call
    WHILST_CUDA("running a product", cudaStreamSynchronize(stream_));
  }
  /// The seconds of a run, without those of recording it.
  double operator()(index_type count) {
    const auto [known, is_new] = graphs_.try_emplace(count);
    if (is_new) known->second = record(count);
    const cudaGraphExec_t graph = known->second.get();
    const auto began = std::chrono::steady_clock::now();
    if (graph)
      WHILST_CUDA("launching products", cudaGraphLaunch(graph, stream_));
    else
      repeat(count);
    WHILST_CUDA("running products", cudaStreamSynchronize(stream_));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

 private:
  void repeat(index_type count) const {
    for (index_type k = 0; k < count; ++k) product_();
  }
  /// Null if the product cannot be captured.
  cuda::graph_exec record(index_type count) const {
    WHILST_CUDA("recording products", cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    try {
      repeat(count);
    } catch (const error&) {
      cuda::abandon_capture(stream_, false);
      return {};
    }
    cudaGraph_t made = nullptr;
    if (cudaStreamEndCapture(stream_, &made) != cudaSuccess) {
      cudaGetLastError();  // heard
      return {};
    }
    const cuda::graph graph(made);
    cudaGraphExec_t exec = nullptr;
    WHILST_CUDA("instantiating products", cudaGraphInstantiate(&exec, graph.get(), 0));
    cuda::graph_exec owned_exec(exec);
    WHILST_CUDA("uploading products", cudaGraphUpload(exec, stream_));
    return owned_exec;
  }

  cudaStream_t stream_;
  std::function<void()> product_;
  std::map<index_type, cuda::graph_exec> graphs_;
};

/// One matrix and x, multiplied in every way.
template <class T>
class cusparse_multiplier {
 public:
  using result = product_baseline<T>;

  cusparse_multiplier(const csr_matrix<T>& A, std::span<const T> x, const product_stopwatch& watch)
      : A_(A), watch_(watch), stream_(cuda::make_stream()), cusparse_(baselines::make_cusparse(stream_.get())) {
    // The last blocks may reach beyond the matrix: buffers begin with zeros.
    std::vector<T> longer(x.begin(), x.end());
    longer.resize(x.size() + beyond);
    x_ = buffer<T>(gpu_, A.columns() + beyond, longer.data());
    y_ = buffer<T>(gpu_, A.rows() + beyond);
  }

  result by_rows(const char* name, cusparseSpMVAlg_t algorithm) {
    return attempt(name, [&](result& found) {
      const baselines::device_matrix<T> rows(A_, gpu_);
      const bool wide = A_.has_64bit_offsets();
      found.bytes = entry_bytes * static_cast<double>(A_.nonzeros()) + (wide ? 8.0 : 4.0) * (rows_ + 1);
      cusparseSpMatDescr_t made = nullptr;
      call("describing a matrix",
           cusparseCreateCsr(&made, A_.rows(), A_.columns(), A_.nonzeros(), const_cast<void*>(rows.offsets),
                             const_cast<std::int32_t*>(rows.columns), const_cast<T*>(rows.values),
                             wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                             CUSPARSE_INDEX_BASE_ZERO, type_of<T>));
      multiply(found, made, A_.rows(), A_.columns(), algorithm);
    });
  }
  result by_slices() {
    return attempt("sell", [&](result& found) {
      const auto slices = baselines::lay_out_slices(A_, 32);
      const auto offsets = on_gpu(slices.slice_offsets), columns = on_gpu(slices.columns);
      const auto values = on_gpu(slices.values);
      found.bytes = entry_bytes * static_cast<double>(values.size()) + 4.0 * static_cast<double>(offsets.size());
      cusparseSpMatDescr_t made = nullptr;
      call("describing a matrix in slices",
           cusparseCreateSlicedEll(&made, A_.rows(), A_.columns(), A_.nonzeros(), values.size(), slices.rows_a_slice,
                                   offsets.data(), columns.data(), values.data(), CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of<T>));
      multiply(found, made, A_.rows(), A_.columns(), CUSPARSE_SPMV_SELL_ALG1);
    });
  }
  /// By bsrmv, and by the generic interface where this cuSPARSE has it for blocks.
  void by_blocks(std::vector<result>& into) {
    block_arrays blocks;
    const result laid_out = attempt("bsr", [&](result& found) {
      const auto made = baselines::lay_out_filled_blocks(A_);
      blocks = {made.size,
                made.rows(),
                (A_.columns() + made.size - 1) / made.size,
                on_gpu(made.row_offsets),
                on_gpu(made.columns),
                on_gpu(made.values)};
      found.bytes = sizeof(T) * static_cast<double>(blocks.values.size()) +
                    4.0 * static_cast<double>(blocks.columns.size() + blocks.offsets.size());
    });
    const auto with_blocks = [&](const char* name, auto&& measure_with) {
      result found = laid_out;
      found.name = name;
      if (found.why_not.empty()) found = attempt(name, [&](result& r) { r.bytes = laid_out.bytes, measure_with(r); });
      into.push_back(std::move(found));
    };
    with_blocks("bsr-mv", [&](result& found) { multiply_by_bsrmv(found, blocks); });
#if CUSPARSE_VERSION >= 12603
    with_blocks("bsr-generic", [&](result& found) { multiply_generically(found, blocks); });
#endif
  }

 private:
  struct block_arrays {
    int size = 0;
    index_type rows = 0, columns_of_blocks = 0;
    buffer<std::int32_t> offsets, columns;
    buffer<T> values;
  };
  static constexpr std::size_t beyond = 8;  ///< more than a block
  static constexpr double entry_bytes = sizeof(T) + sizeof(std::int32_t);

  template <class Make>
  result attempt(const char* name, const Make& make) {
    result found{.name = name};
    try {
      make(found);
    } catch (const error& problem) {
      found.why_not = problem.what();
    }
    return found;
  }
  template <class Value>
  buffer<Value> on_gpu(const std::vector<Value>& values) const {
    return buffer<Value>(gpu_, static_cast<index_type>(values.size()), values.data());
  }

  void multiply(result& found, cusparseSpMatDescr_t made, index_type rows, index_type columns,
                cusparseSpMVAlg_t algorithm) {
    const owned<cusparseSpMatDescr_t, cusparseDestroySpMat> A(made);
    const auto describe = [](index_type count, T* values) {
      cusparseDnVecDescr_t vector = nullptr;
      call("describing a vector", cusparseCreateDnVec(&vector, count, values, type_of<T>));
      return owned<cusparseDnVecDescr_t, cusparseDestroyDnVec>(vector);
    };
    const auto x = describe(columns, x_.data()), y = describe(rows, y_.data());
    constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    std::size_t bytes = 0;
    call("sizing a product", cusparseSpMV_bufferSize(cusparse_.get(), plain, &one_, A.get(), x.get(), &zero_, y.get(),
                                                     type_of<T>, algorithm, &bytes));
    const raw_buffer scratch(gpu_, bytes);
    const cusparseStatus_t prepared = cusparseSpMV_preprocess(cusparse_.get(), plain, &one_, A.get(), x.get(), &zero_,
                                                              y.get(), type_of<T>, algorithm, scratch.data());
    if (prepared != CUSPARSE_STATUS_NOT_SUPPORTED) call("preparing a product", prepared);
    measure(found, [&] {
      call("making a product", cusparseSpMV(cusparse_.get(), plain, &one_, A.get(), x.get(), &zero_, y.get(),
                                            type_of<T>, algorithm, scratch.data()));
    });
  }
  void multiply_by_bsrmv(result& found, const block_arrays& A) {
    cusparseMatDescr_t made = nullptr;
    call("describing a matrix", cusparseCreateMatDescr(&made));  // general, indices from 0
    const owned<cusparseMatDescr_t, cusparseDestroyMatDescr> general(made);
    constexpr auto bsrmv = [] {
      if constexpr (sizeof(T) == 4)
        return cusparseSbsrmv;
      else
        return cusparseDbsrmv;
    }();
    measure(found, [&] {
      call("making a product in blocks",
           bsrmv(cusparse_.get(), CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, static_cast<int>(A.rows),
                 static_cast<int>(A.columns_of_blocks), static_cast<int>(A.columns.size()), &one_, general.get(),
                 A.values.data(), A.offsets.data(), A.columns.data(), A.size, x_.data(), &zero_, y_.data()));
    });
  }
#if CUSPARSE_VERSION >= 12603
  void multiply_generically(result& found, const block_arrays& A) {
    cusparseSpMatDescr_t made = nullptr;
    call("describing a matrix in blocks",
         cusparseCreateBsr(&made, A.rows, A.columns_of_blocks, A.columns.size(), A.size, A.size, A.offsets.data(),
                           A.columns.data(), A.values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_BASE_ZERO, type_of<T>, CUSPARSE_ORDER_ROW));
    multiply(found, made, A.rows * A.size, A.columns_of_blocks * A.size, CUSPARSE_SPMV_BSR_ALG1);
  }
#endif

  void measure(result& found, const std::function<void()>& product) {
    WHILST_CUDA("clearing y", cudaMemset(y_.data(), 0xff, static_cast<std::size_t>(y_.bytes())));  // NaN
    WHILST_CUDA("clearing y", cudaDeviceSynchronize());
    product_runs runs(stream_.get(), product);
    found.seconds = watch_([&](index_type count) { return runs(count); });
    std::vector<T> y(static_cast<std::size_t>(y_.size()));
    y_.download(y.data());
    y.resize(static_cast<std::size_t>(A_.rows()));
    found.y = std::move(y);
  }

  const csr_matrix<T>& A_;
  const product_stopwatch& watch_;
  place gpu_ = baselines::current_gpu();
  cuda::stream stream_;
  owned<cusparseHandle_t, cusparseDestroy> cusparse_;
  buffer<T> x_, y_;
  const double rows_ = static_cast<double>(A_.rows());
  const T one_ = 1, zero_ = 0;
};

}  // namespace

std::string cusparse_version() {
  return std::to_string(CUSPARSE_VER_MAJOR) + "." + std::to_string(CUSPARSE_VER_MINOR) + "." +
         std::to_string(CUSPARSE_VER_PATCH);
}

std::string why_no_cusparse() {
  std::string note;
  if (cuda::device_count(&note) > 0) return {};
  return note.empty() ? "there is no CUDA device" : note;
}

template <class T>
std::vector<product_baseline<T>> cusparse_products(const csr_matrix<T>& A, std::span<const T> x,
                                                   const product_stopwatch& watch) {
  std::vector<product_baseline<T>> all;
  if (!why_no_cusparse().empty()) return all;
  cusparse_multiplier<T> multiplier(A, x, watch);
  all.push_back(multiplier.by_rows("csr-alg1", CUSPARSE_SPMV_CSR_ALG1));
  all.push_back(multiplier.by_rows("csr-alg2", CUSPARSE_SPMV_CSR_ALG2));
  multiplier.by_blocks(all);
  all.push_back(multiplier.by_slices());
  return all;
}

#else

namespace whilst {

std::string cusparse_version() { return {}; }

std::string why_no_cusparse() { return "this build has no cuSPARSE"; }

template <class T>
std::vector<product_baseline<T>> cusparse_products(const csr_matrix<T>&, std::span<const T>, const product_stopwatch&) {
  return {};
}

#endif

template std::vector<product_baseline<float>> cusparse_products(const csr_matrix<float>&, std::span<const float>,
                                                                const product_stopwatch&);
template std::vector<product_baseline<double>> cusparse_products(const csr_matrix<double>&, std::span<const double>,
                                                                 const product_stopwatch&);

}  // namespace whilst
