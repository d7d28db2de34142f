"""Arrays of other libraries: what they are, where they lie, and how to read them without a copy."""

import functools
import math
import sys

import numpy as np

from . import _core

_REAL = {np.dtype(np.float32): "float32", np.dtype(np.float64): "float64"}
_ON_GPU = (2, 13)  # DLPack's numbers for memory of CUDA devices
_LEGACY = 1  # CUDA's other name for its default stream, 0
_COMPLEX_CURE = (
    "Whilst solves real systems. Solve the real one of twice the size, [[Re A, -Im A], [Im A, Re A]] for [Re x, Im x]"
)


@functools.lru_cache(64)
def _library_of(kind):
    return kind.__module__.partition(".")[0]


def library_of(array):
    """The name of the package that the array's type is from."""
    return _library_of(type(array))


def is_on_gpu(array):
    """Whether the array lies in the memory of a GPU."""
    if isinstance(array, np.ndarray):
        return False
    if _is_of_cupy(array):  # which takes longer to say so itself
        return True
    device = getattr(array, "__dlpack_device__", None)
    if device is not None:  # asked first: PyTorch's sparse tensors raise an error when asked for the other
        return device()[0] in _ON_GPU
    return getattr(array, "__cuda_array_interface__", None) is not None


def real_dtype(dtype, what):
    """The dtype that stands for this one: float32 stays, every other real one becomes float64, as in SciPy.

    Raises
    ------
    TypeError
        If numbers of this type are not real.
    """
    try:
        dtype = np.dtype(dtype)
    except TypeError:  # PyTorch's
        dtype = np.dtype(str(dtype).rpartition(".")[2])
    if dtype in _REAL:
        return dtype
    if dtype.kind == "c":
        raise TypeError(f"{what} has complex numbers. {_COMPLEX_CURE}")
    if dtype.kind not in "biuf":
        raise TypeError(f"{what} has numbers of type {dtype}. Give float32, float64, or what converts to it")
    return np.dtype(np.float64)


def common_dtype(*dtypes):
    """float32 if all are, else float64."""
    return np.dtype(np.float32) if all(d == np.float32 for d in dtypes) else np.dtype(np.float64)


def contiguous(array, dtype):
    """The array itself, or a copy of it that the core can read: of this type, without gaps, aligned."""
    return np.require(array, dtype, ("C", "ALIGNED"))


def to_numpy(array, what):
    """A NumPy array of anything array-like in host memory, without a copy where there is one already."""
    if isinstance(array, np.ndarray):
        return np.asarray(array)  # np.matrix, too
    if is_on_gpu(array):
        raise TypeError(f"{what} lies on a GPU, and the matrix does not. Put both on the same device")
    if hasattr(array, "__dlpack__"):
        try:
            return np.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError) as problem:
            if isinstance(problem, BufferError) and hasattr(array, "__array__"):
                try:  # NumPy up to 2.0 lends no read-only array
                    return np.asarray(array)
                except (RuntimeError, TypeError, ValueError):
                    pass
            raise TypeError(
                f"{what} cannot be read by DLPack: {problem}. Detach it, or pass numpy.asarray of it"
            ) from problem
    try:
        return np.asarray(array)
    except ValueError as problem:  # ragged lists
        raise TypeError(f"{what} is no array: {problem}") from problem


def writable(array, what):
    """As to_numpy, and where that is read-only, as all from NumPy 1's and 2.0's DLPack are, another alias that is not."""
    vector = to_numpy(array, what)
    if not vector.flags.writeable and not isinstance(array, np.ndarray) and hasattr(array, "__array__"):
        alias = np.asarray(array)
        if alias.ctypes.data == vector.ctypes.data:
            return alias
    return vector


def same_kind(result, like):
    """The NumPy array as an array of the library that `like` is from, without a copy."""
    if isinstance(like, np.ndarray) or not hasattr(like, "__dlpack__") or isinstance(like, np.generic):
        return result
    library = sys.modules.get(library_of(like))
    for owner in (library, getattr(library, "dlpack", None), getattr(library, "numpy", None)):
        convert = getattr(owner, "from_dlpack", None)
        if convert is not None:
            return convert(result)
    return result


def _is_of_cupy(array):
    return _library_of(type(array)) == "cupy"


def _interface(array, what):
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError(
            f"{what} lies on a GPU but has no __cuda_array_interface__. Pass it as a CuPy array or a PyTorch tensor"
        )
    return interface


class GpuVector:
    """A vector in the memory of a GPU, read by ``__cuda_array_interface__``; `array` is kept alive."""

    __slots__ = ("array", "shape", "dtype", "address", "read_only")

    def __init__(self, array, what):
        self.array = array
        if _is_of_cupy(array) and array.flags.c_contiguous:  # whose own attributes take less time than the protocol's
            self.shape, self.dtype = array.shape, array.dtype
            self.address, self.read_only = array.data.ptr, False
            return
        interface = _interface(array, what)
        self.shape = tuple(interface["shape"])
        self.dtype = np.dtype(interface["typestr"])
        self.address, self.read_only = interface["data"]
        strides = interface.get("strides")
        if strides is not None and self.size > 1:
            expected = []
            step = self.dtype.itemsize
            for extent in reversed(self.shape):
                expected.insert(0, step)
                step *= extent
            if any(s != e for s, e, n in zip(strides, expected, self.shape) if n > 1):
                raise ValueError(f"{what} has gaps between its entries. Pass a contiguous copy")

    @property
    def size(self):
        """The number of entries."""
        return math.prod(self.shape)


class GpuColumns:
    """The columns of an array in the memory of a GPU, one behind the other: those of `array`, which is the given one where its
    columns lie so, in Fortran order, else a copy of its library's on its GPU, made in the stream in which that works now."""

    def __init__(self, array, what):
        interface = _interface(array, what)
        self.shape, self.dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
        rows, columns = self.shape
        step = self.dtype.itemsize
        strides = interface.get("strides") or (columns * step, step)
        if (strides[0] != step and rows > 1) or (strides[1] != rows * step and columns > 1):
            if hasattr(array, "contiguous"):  # PyTorch
                array = array.T.contiguous().T
            else:
                cupy = _cupy_of(array, "copy")
                with array.device:
                    array = cupy.asfortranarray(array)
            interface = array.__cuda_array_interface__
        self.array = array
        self.address = interface["data"][0]

    def column(self, k):
        """The address of one."""
        return self.address + k * self.shape[0] * self.dtype.itemsize


def _cupy_of(array, what):
    """CuPy, of an array of its own."""
    if _is_of_cupy(array):
        return sys.modules["cupy"]
    purpose = {"make": "make {} to write the solution to", "copy": "copy {} into Fortran order"}[what]
    raise TypeError(
        f"Whilst cannot {purpose.format(f'a {type(array).__name__}')}. Pass CuPy arrays or PyTorch tensors, or use "
        "LinearSolver.enqueue with an x of your own"
    )


def zeros_on_gpu(array, shape, order="C"):
    """A new array of zeros of the array's library and type, on its GPU."""
    if hasattr(array, "new_zeros"):  # PyTorch
        return array.new_zeros(shape) if order == "C" else array.new_zeros(shape[::-1]).T
    if library_of(array) == "warp" and order == "C":
        return sys.modules["warp"].zeros(shape, dtype=array.dtype, device=array.device)
    cupy = _cupy_of(array, "make")
    with array.device:
        return cupy.zeros(shape, array.dtype, order)


def copy_into(x, other):
    """x[...] = other, both of one library."""
    if hasattr(x, "assign"):  # Warp
        x.assign(other)
    else:
        x[...] = other


def current_stream(array):
    """The stream in which the array's library works now, as an address; 0, the default stream, if it does not say."""
    if _is_of_cupy(array):
        return sys.modules["cupy"].cuda.get_current_stream(array.data.device_id).ptr
    library = library_of(array)
    if library == "torch":
        return sys.modules["torch"].cuda.current_stream(array.device).cuda_stream
    if library == "warp":
        return sys.modules["warp"].get_stream(array.device).cuda_stream or 0
    return _interface(array, "the array").get("stream") or 0


def wait_for(array, stream=None):
    """Waits for what the array's library has enqueued, which may write the array; not if that is on `stream`."""
    if hasattr(array, "block_until_ready"):  # JAX, which does not tell its streams
        array.block_until_ready()
        return
    producer = current_stream(array)
    if stream is None or (producer or _LEGACY) != (stream or _LEGACY):
        _core.wait_for_stream(producer, _interface(array, "the array")["data"][0])


def stream_for(x, b):
    """The stream in which x's library works now, as an address, once it may read b."""
    stream = current_stream(x)
    if not (type(x) is type(b) and _is_of_cupy(x) and x.data.device_id == b.data.device_id):
        wait_for(b, stream)
    return stream


def stream_address(stream):
    """The address of a stream: an integer, or a stream of CuPy, PyTorch or Warp."""
    for name in ("ptr", "cuda_stream", "handle"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    if isinstance(stream, int) and not isinstance(stream, bool) and stream >= 0:
        return stream
    raise TypeError(
        f"stream is {stream!r}. Give a stream of CuPy, PyTorch or Warp, its address, or None for the current one"
    )
