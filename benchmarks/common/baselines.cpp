// compiled by nvcc where CUDA is on
#include "benchmarks/common/baselines.hpp"

#include "benchmarks/common/baselines_parts.hpp"

#if WHILST_WITH_CUDA && WHILST_BASELINES_HAVE_LIBRARIES

#include <cublas_v2.h>

#include <cmath>

#include "benchmarks/common/baselines_cusparse.hpp"

namespace whilst {
namespace {

using baselines::call;
using baselines::current_gpu;
using baselines::device_matrix;
using baselines::owned;

void call(const char* doing, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw error(doing, std::string("cuBLAS says ") + cublasGetStatusString(status));
}

/// cuBLAS and cuSPARSE name their functions by type.
template <class T>
struct named;
template <>
struct named<float> {
  static constexpr auto type = CUDA_R_32F;
  static constexpr auto dot = cublasSdot;
  static constexpr auto norm = cublasSnrm2;
  static constexpr auto axpy = cublasSaxpy;
  static constexpr auto scale = cublasSscal;
  static constexpr auto diagonal = cublasSdgmm;
};
template <>
struct named<double> {
  static constexpr auto type = CUDA_R_64F;
  static constexpr auto dot = cublasDdot;
  static constexpr auto norm = cublasDnrm2;
  static constexpr auto axpy = cublasDaxpy;
  static constexpr auto scale = cublasDscal;
  static constexpr auto diagonal = cublasDdgmm;
};

/// The inverse of the diagonal; rows with a zero there are not scaled.
template <class T, class Offset>
__global__ void invert_diagonal(int n, const Offset* offsets, const std::int32_t* columns, const T* values,
                                T* inverse) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  T sum = 0;
  for (Offset k = offsets[i]; k < offsets[i + 1]; ++k)
    if (columns[k] == i) sum += values[k];
  inverse[i] = sum == 0 ? T(1) : 1 / sum;
}

}  // namespace

template <class T>
baseline_result<T> host_driven_conjugate_gradient(const csr_matrix<T>& A, std::span<const T> b, index_type iterations,
                                                  bool jacobi) {
  baseline_result<T> result{.name = baselines::host_driven_name};
  baselines::check_sizes(result.name, A, b);
  result.why_not = baselines::why_not(A, iterations);
  if (!result.why_not.empty()) return result;

  const place gpu = current_gpu();
  const auto stream_owner = cuda::make_stream();
  cudaStream_t stream = stream_owner.get();
  const int n = static_cast<int>(A.rows());
  const device_matrix<T> matrix(A, gpu);
  buffer<T> b_device(gpu, n), x(gpu, n), r(gpu, n), p(gpu, n), q(gpu, n), preconditioned(gpu, jacobi ? n : 0),
      inverse_diagonal(gpu, jacobi ? n : 0);
  b_device.upload(b.data());
  T* const z = jacobi ? preconditioned.data() : r.data();

  cublasHandle_t blas_handle = nullptr;
  call("starting cuBLAS", cublasCreate(&blas_handle));
  const owned<cublasHandle_t, cublasDestroy> blas(blas_handle);
  call("starting cuBLAS", cublasSetStream(blas.get(), stream));
  const auto sparse = baselines::make_cusparse(stream);

  cusparseSpMatDescr_t A_made = nullptr;
  call("describing the matrix",
       cusparseCreateCsr(&A_made, n, n, A.nonzeros(), const_cast<void*>(matrix.offsets),
                         const_cast<std::int32_t*>(matrix.columns), const_cast<T*>(matrix.values),
                         A.has_64bit_offsets() ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                         CUSPARSE_INDEX_BASE_ZERO, named<T>::type));
  const owned<cusparseSpMatDescr_t, cusparseDestroySpMat> A_described(A_made);
  const auto describe = [&](T* vector) {
    cusparseDnVecDescr_t made = nullptr;
    call("describing a vector", cusparseCreateDnVec(&made, n, vector, named<T>::type));
    return owned<cusparseDnVecDescr_t, cusparseDestroyDnVec>(made);
  };
  const auto p_described = describe(p.data()), q_described = describe(q.data());
  const T one = 1, zero = 0;
  constexpr auto algorithm = CUSPARSE_SPMV_ALG_DEFAULT;
  std::size_t scratch_bytes = 0;
  const cusparseStatus_t supported =
      cusparseSpMV_bufferSize(sparse.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A_described.get(),
                              p_described.get(), &zero, q_described.get(), named<T>::type, algorithm, &scratch_bytes);
  if (supported == CUSPARSE_STATUS_NOT_SUPPORTED) {
    result.why_not = "cuSPARSE does not multiply by a matrix with these types of index";
    return result;
  }
  call("sizing a matrix-vector product", supported);
  const raw_buffer scratch(gpu, scratch_bytes);
  call("preparing a matrix-vector product",
       cusparseSpMV_preprocess(sparse.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A_described.get(),
                               p_described.get(), &zero, q_described.get(), named<T>::type, algorithm, scratch.data()));

  const auto precondition = [&] {
    if (jacobi)
      call("z = M r",
           named<T>::diagonal(blas.get(), CUBLAS_SIDE_LEFT, n, 1, r.data(), n, inverse_diagonal.data(), 1, z, n));
  };
  const auto dot = [&](const T* u, const T* v) {
    T value = 0;
    call("a dot product", named<T>::dot(blas.get(), n, u, 1, v, 1, &value));
    return value;
  };
  const auto copy = [&](T* target, const T* source) {
    WHILST_CUDA("copying a vector", cudaMemcpyAsync(target, source, sizeof(T) * static_cast<std::size_t>(n),
                                                    cudaMemcpyDeviceToDevice, stream));
  };

  T rho = 0;
  const auto prepare = [&] {
    if (jacobi) {
      const unsigned blocks = static_cast<unsigned>((n + 255) / 256);
      if (A.has_64bit_offsets())
        invert_diagonal<<<blocks, 256, 0, stream>>>(n, static_cast<const std::int64_t*>(matrix.offsets), matrix.columns,
                                                    matrix.values, inverse_diagonal.data());
      else
        invert_diagonal<<<blocks, 256, 0, stream>>>(n, static_cast<const std::int32_t*>(matrix.offsets), matrix.columns,
                                                    matrix.values, inverse_diagonal.data());
      WHILST_CUDA("inverting the diagonal", cudaGetLastError());
    }
    WHILST_CUDA("clearing x", cudaMemsetAsync(x.data(), 0, sizeof(T) * static_cast<std::size_t>(n), stream));
    copy(r.data(), b_device.data());
    precondition();
    copy(p.data(), z);
    rho = dot(r.data(), z);
  };
  const auto run = [&] {
    for (result.iterations = 0; result.iterations < iterations; ++result.iterations) {
      call("q = A p",
           cusparseSpMV(sparse.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, A_described.get(), p_described.get(),
                        &zero, q_described.get(), named<T>::type, algorithm, scratch.data()));
      const T alpha = rho / dot(p.data(), q.data());
      if (!std::isfinite(alpha)) return;
      const T minus_alpha = -alpha;
      call("x += alpha p", named<T>::axpy(blas.get(), n, &alpha, p.data(), 1, x.data(), 1));
      call("r -= alpha q", named<T>::axpy(blas.get(), n, &minus_alpha, q.data(), 1, r.data(), 1));
      T norm = 0;
      call("the norm of r", named<T>::norm(blas.get(), n, r.data(), 1, &norm));
      if (!(norm > 0)) {
        ++result.iterations;
        return;
      }
      precondition();
      const T rho_before = rho;
      rho = jacobi ? dot(r.data(), z) : norm * norm;
      const T beta = rho / rho_before;
      call("p = beta p", named<T>::scale(blas.get(), n, &beta, p.data(), 1));
      call("p += z", named<T>::axpy(blas.get(), n, &one, z, 1, p.data(), 1));
    }
  };
  const double seconds = baselines::median_seconds(stream, prepare, run);
  result.available = true;
  if (result.iterations > 0) result.seconds_per_iteration = seconds / static_cast<double>(result.iterations);
  result.x.resize(b.size());
  x.download(result.x.data());
  return result;
}

#else

namespace whilst {

template <class T>
baseline_result<T> host_driven_conjugate_gradient(const csr_matrix<T>& A, std::span<const T> b, index_type, bool) {
  baseline_result<T> result{.name = baselines::host_driven_name};
  baselines::check_sizes(result.name, A, b);
  result.why_not = "this build has no cuSPARSE and cuBLAS";
  return result;
}

#endif

template baseline_result<float> host_driven_conjugate_gradient(const csr_matrix<float>&, std::span<const float>,
                                                               index_type, bool);
template baseline_result<double> host_driven_conjugate_gradient(const csr_matrix<double>&, std::span<const double>,
                                                                index_type, bool);

}  // namespace whilst
