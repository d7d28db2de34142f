"""Matrices of other libraries as Whilst takes them."""

from copy import copy

import numpy as np

from . import _core
from ._arrays import GpuVector, common_dtype, contiguous, is_on_gpu, real_dtype, to_numpy, wait_for

_MATRICES = {np.dtype(np.float32): _core.MatrixFloat, np.dtype(np.float64): _core.MatrixDouble}
_MOST_COLUMNS = np.iinfo(np.int32).max


def is_sparse(A):
    """Whether A is a sparse matrix of SciPy, CuPy or PyTorch. PyTorch's dense tensors have `crow_indices`, too."""
    return hasattr(A, "tocsr") or _is_csr_tensor(A)


def _is_csr_tensor(A):
    return hasattr(A, "crow_indices") and "sparse_csr" in str(getattr(A, "layout", "sparse_csr"))


class System:
    """A, given as a matrix or by its products.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        float32 or float64; None for an operator that does not say.
    on_gpu : bool
    is_matrix : bool
    """

    @classmethod
    def of(cls, A):
        """A itself if it is a System already."""
        return A if isinstance(A, cls) else cls(A)

    def __init__(self, A):
        self.source = A
        self._csr = None
        self.on_gpu = False
        if hasattr(A, "tocsr"):
            csr = A if getattr(A, "format", "") == "csr" else A.tocsr()
            self._take(csr.shape, csr.indptr, csr.indices, csr.data, csr)
        elif _is_csr_tensor(A):
            if A.dim() != 2:
                raise ValueError(f"A has {A.dim()} dimensions. Give a matrix")
            self._take(tuple(A.shape), A.crow_indices(), A.col_indices(), A.values(), None)
        elif hasattr(A, "matvec") and hasattr(A, "shape"):
            self.shape = tuple(A.shape)
            dtype = getattr(A, "dtype", None)
            self.dtype = None if dtype is None else real_dtype(dtype, "A")
        else:
            self._take_dense(A)
        if len(self.shape) != 2:
            raise ValueError(f"A has shape {self.shape}. Give a matrix of two dimensions")

    @property
    def is_matrix(self):
        return self._csr is not None

    def _take(self, shape, offsets, indices, values, csr):
        self.shape = tuple(int(n) for n in shape)
        if self.shape[1] > _MOST_COLUMNS:
            raise ValueError(f"A has {self.shape[1]} columns, and column indices have 32 bits")
        self.on_gpu = is_on_gpu(values)
        if self.on_gpu:
            vector = GpuVector(values, "A's values")
            self.dtype = vector.dtype
            if real_dtype(self.dtype, "A") != self.dtype:
                raise TypeError(f"A's values on the GPU are of type {self.dtype}. Convert them to float32 or float64")
            if GpuVector(indices, "A's column indices").dtype != np.int32:
                if not hasattr(indices, "int"):
                    indices = indices.astype(np.int32)
                else:
                    indices = indices.int()
            self._csr = (offsets, indices, values)
            return
        if csr is not None and not getattr(csr, "has_canonical_format", True):
            added = csr.copy()  # the caller's stays as it is
            added.sum_duplicates()
            if added.nnz != csr.nnz:  # else the rows are in another order alone, which the core takes
                offsets, indices, values = added.indptr, added.indices, added.data
        offsets, indices = to_numpy(offsets, "A's row offsets"), to_numpy(indices, "A's column indices")
        values = to_numpy(values, "A's values")
        self.dtype = real_dtype(values.dtype, "A")
        if offsets.dtype not in (np.int32, np.int64):
            offsets = offsets.astype(np.int64)
        count = int(offsets[-1]) if len(offsets) else 0
        if indices.dtype != np.int32:
            if len(indices) and (indices.min() < 0 or indices.max() >= self.shape[1]):
                raise ValueError(f"A has column indices outside 0 .. {self.shape[1] - 1}")
            indices = indices.astype(np.int32)
        self._csr = (contiguous(offsets, offsets.dtype), contiguous(indices, np.int32)[:count], values[:count])

    def _take_dense(self, A):
        if is_on_gpu(A):
            raise TypeError(
                "A is a dense matrix on a GPU. Convert it to a sparse one in CSR: cupyx.scipy.sparse.csr_matrix(A) or "
                "A.to_sparse_csr()"
            )
        dense = to_numpy(A, "A")
        real_dtype(dense.dtype, "A")
        if dense.ndim != 2:
            raise ValueError(f"A has shape {dense.shape}. Give a matrix of two dimensions")
        kept = dense != 0  # NaN is kept
        offsets = np.concatenate(([0], np.cumsum(np.count_nonzero(kept, axis=1), dtype=np.int64)))
        self._take(dense.shape, offsets, np.nonzero(kept)[1].astype(np.int32), dense[kept], None)

    def matrix(self, dtype):
        """A in the core's form, with values of this type; reads the caller's arrays where types agree."""
        offsets, indices, values = self._csr
        if self.on_gpu:
            if dtype != self.dtype:
                raise TypeError(f"A has numbers of type {self.dtype} and b of type {dtype}. Convert one of them")
            at = [GpuVector(array, "A") for array in self._csr]
            return _MATRICES[dtype].on_device(
                *self.shape, at[2].size, at[0].dtype == np.int64, at[0].address, at[1].address, at[2].address
            )
        return _MATRICES[dtype].borrow(*self.shape, offsets, indices, contiguous(values, dtype))

    def wait_for_arrays(self, stream=None):
        """Waits until the arrays of a matrix on a GPU are written, unless that is in `stream`."""
        if self.on_gpu:
            for array in self._csr:
                wait_for(array, stream)

    def with_values(self, values):
        """The same pattern with other values."""
        other = copy(self)
        other.source, other._csr = None, (*self._csr[:2], values)
        return other

    def addresses(self):
        """Where the offsets and values of a matrix on a GPU lie, as they were given."""
        return (GpuVector(self._csr[0], "A").address, GpuVector(self._csr[2], "A").address)

    def values(self):
        """The values of a matrix in host memory."""
        return self._csr[2]

    def with_rows_below(self, damp, dtype):
        """[A; damp I], for a matrix in host memory."""
        offsets, indices, values = self._csr
        rows, columns = self.shape
        below = np.arange(columns)
        stacked = object.__new__(System)
        stacked.source, stacked.on_gpu, stacked.dtype, stacked.shape = None, False, dtype, (rows + columns, columns)
        stacked._csr = (
            np.concatenate((offsets, offsets[-1] + 1 + below)).astype(np.int64),
            np.concatenate((indices, below)).astype(np.int32),
            np.concatenate((values, np.full(columns, damp))).astype(dtype),
        )
        return stacked

    def has_pattern_of(self, other):
        """Whether both have their entries at the same positions, in the same order. Matrices in host memory."""
        return all(np.array_equal(mine, theirs) for mine, theirs in zip(self._csr[:2], other._csr[:2]))

    def dtype_with(self, b_dtype):
        """The type in which A x = b is solved."""
        if self.dtype is None:
            self.dtype = real_dtype(
                np.asarray(self.source.matvec(np.zeros(self.shape[1], b_dtype))).dtype, "A.matvec(x)"
            )
        return common_dtype(self.dtype, b_dtype)

    def product(self, dtype, wrapped):
        return wrapped(self.source.matvec, self.shape, dtype, "A.matvec(x)")

    def transposed_product(self, dtype, wrapped):
        rmatvec = getattr(self.source, "rmatvec", None)
        if rmatvec is None:
            raise TypeError("A has no rmatvec, the product with its transpose, which this method needs")
        return wrapped(rmatvec, self.shape[::-1], dtype, "A.rmatvec(x)")


def checked_function(function, shape, dtype, what):
    """A function of arrays in host memory, of that shape as a matrix, with its result converted and checked for the core."""
    size = shape[0]

    def call(vector):
        result = to_numpy(function(vector), what)
        if result.dtype.kind == "c":
            real_dtype(result.dtype, what)
        if result.size != size or result.ndim > 2:
            raise ValueError(f"{what} has shape {result.shape}. It must have {size} entries")
        return contiguous(result.reshape(size), dtype)

    return call


def preconditioner(M, shape, dtype, wrapped=checked_function):
    """(name, function) of a preconditioner: a name of Whilst's, a matrix, an operator with matvec, or a function of r."""
    if M is None:
        return "none", None
    if isinstance(M, str):
        return M, None
    if hasattr(M, "matvec"):
        apply = M.matvec
    elif callable(M):
        apply = M
    elif hasattr(M, "shape") and hasattr(M, "__matmul__"):
        if hasattr(M, "dtype"):
            real_dtype(M.dtype, "M")
        apply = M.__matmul__
    else:
        raise TypeError(
            f"M is a {type(M).__name__}. Give the name of a preconditioner, a matrix, something with matvec, or a function"
        )
    n = shape[1]  # of a matrix for least squares, too
    if hasattr(M, "shape") and tuple(M.shape) != (n, n):
        raise ValueError(f"M has shape {tuple(M.shape)} and A {tuple(shape)}. It must be ({n}, {n})")
    return "user", wrapped(apply, (n, n), dtype, "M r")
