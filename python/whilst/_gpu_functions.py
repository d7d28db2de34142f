"""Functions of arrays on a GPU as the library's loops call them, with addresses, while a loop is recorded: PyTorch's and CuPy's; for
Warp's see _warp_functions.py."""

import contextlib
import math
import sys
import warnings

import numpy as np

from . import _core
from ._arrays import GpuVector, is_on_gpu

DEFAULT_STREAMS = (0, 1)  # CUDA's default stream, by both of its names
_rehearsal_streams = {}  # PyTorch's, by device: it keeps a workspace for each that was ever used
REHEARSALS = 3  # cuBLAS handles, workspaces, kernels that are compiled or loaded when first called


class _Memory:
    """Memory at an address, as libraries read it."""

    def __init__(self, address, shape, dtype):
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": dtype.str, "data": (address, False), "version": 3, "strides": None, "stream": None,
        }  # fmt: skip


def refused(what, problem, cure):
    return _core.Error(f"recording {what}: {problem}. {cure}")


def _leaf(x):
    """x, with a gradient of its own."""
    return x.detach().requires_grad_(True)


class Functions:
    """What the libraries share."""

    def recorded(self, function, shape, dtype, what):
        """A function of one vector, of that shape as a matrix, as the core calls it."""
        if dtype != self.dtype:
            raise TypeError(
                f"{what} has arrays of {self.dtype}, and the system is solved in {dtype}. Convert one of them"
            )
        call = Call(self, what, lambda x: (function(x),), shape[1], {what: (shape[0], dtype)})
        call.rehearse(self.ones(shape[1]))
        return call

    def write(self, address, size, dtype, result):
        """Enqueues a copy of a result, an array of the library's with so many entries, to an address."""
        self.array(address, (size,), dtype)[...] = result.reshape(size)


class TorchFunctions(Functions):
    """PyTorch's: memory for what functions make comes from a pool of their own, which a recorded loop goes on using."""

    differentiates = differentiates_twice = True

    def __init__(self, like):
        self.torch = torch = sys.modules["torch"]
        like = like.detach()
        self.device, self._torch_dtype = like.device, like.dtype
        self.dtype = GpuVector(like, "x0").dtype
        self._pool = torch.cuda.MemPool()
        self._kept = []

    @property
    def device_index(self):
        return self.torch.cuda.current_device() if self.device.index is None else self.device.index

    def array(self, address, shape, dtype=None):
        return self.torch.as_tensor(_Memory(address, shape, dtype or self.dtype), device=self.device)

    def copy(self, array):
        return array.detach().clone(memory_format=self.torch.contiguous_format)

    def ones(self, size):
        return self.torch.ones(size, dtype=self._torch_dtype, device=self.device)

    def stack(self, arrays):
        return self.torch.stack(arrays)

    def to_numpy(self, array):
        return array.detach().cpu().numpy()

    @contextlib.contextmanager
    def on(self, stream):
        """Work goes to this stream, an address, and memory comes from the pool: so neither may other threads do the work."""
        torch = self.torch
        with contextlib.ExitStack() as all_of:
            all_of.enter_context(torch.cuda.device(self.device))
            if stream in DEFAULT_STREAMS:
                all_of.enter_context(torch.cuda.stream(torch.cuda.default_stream(self.device)))
            else:
                all_of.enter_context(torch.cuda.stream(torch.cuda.ExternalStream(stream, device=self.device)))
            all_of.enter_context(torch.cuda.use_mem_pool(self._pool))
            all_of.enter_context(torch.autograd.set_multithreading_enabled(False))
            all_of.enter_context(torch.enable_grad())  # whatever the caller has set
            yield

    @contextlib.contextmanager
    def recording(self):
        """Rehearsals and a recording happen within, so that cuBLAS gets workspaces from the pool, which nobody else uses later."""
        clear = getattr(self.torch._C, "_cuda_clearCublasWorkspaces", lambda: None)
        clear()
        try:
            yield
        finally:
            clear()

    def rehearse(self, what, call, vectors):
        """Calls a function a few times as it will be called; refuses what cannot be recorded, and keeps the arrays that it reads.

        vectors: what `call` gives it, which need not be kept.
        """
        torch = self.torch
        if self.device_index not in _rehearsal_streams:
            _rehearsal_streams[self.device_index] = torch.cuda.Stream(self.device)
        stream = _rehearsal_streams[self.device_index]
        stream.wait_stream(torch.cuda.current_stream(self.device))
        before = torch.cuda.get_sync_debug_mode()
        with self.on(stream.cuda_stream):
            with warnings.catch_warnings():  # it is a prototype, says PyTorch
                warnings.simplefilter("ignore")
                torch.cuda.set_sync_debug_mode("error")
            try:
                with _watching_operations(torch, what, stream, self._kept, vectors):
                    call()
            except RuntimeError as problem:
                if "synchronizing CUDA operation" not in str(problem):
                    raise
                raise refused(
                    what,
                    "it waits for the GPU, or copies between it and host memory",
                    "Make arrays and move them before, and leave decisions to torch.where. The exception above names the line",
                ) from problem
            finally:
                torch.cuda.set_sync_debug_mode(before)
            for _ in range(REHEARSALS - 1):
                call()
        stream.synchronize()

    # What follows is called within on(), which turns gradients on.

    def value_and_gradient(self, fun, args):
        grad = self.torch.autograd.grad

        def both(x):
            x = _leaf(x)
            value = self._scalar(fun(x, *args), "fun(x)")
            return value, grad(value, x)[0]

        return both

    def hessian_product(self, fun, args):
        grad = self.torch.autograd.grad

        def product(x, v):
            x = _leaf(x)
            (gradient,) = grad(self._scalar(fun(x, *args), "fun(x)"), x, create_graph=True)
            found = grad(gradient, x, v, allow_unused=True)[0] if gradient.requires_grad else None
            return self.torch.zeros_like(v) if found is None else found  # None of a linear function

        return product

    def half_square(self, fun, args):
        """Of the residuals: half their square, and its gradient."""
        torch = self.torch

        def both(x):
            x = _leaf(x)
            r = fun(x, *args)
            fixed = r.detach()
            return (fixed * fixed).sum(dtype=torch.float64) / 2, torch.autograd.grad(r, x, fixed)[0]

        return both

    def gauss_newton_product(self, fun, args):
        """Of the residuals: J' J v, by reverse mode alone. J v is the derivative of J' w by w."""
        grad = self.torch.autograd.grad

        def product(x, v):
            x = _leaf(x)
            r = fun(x, *args)
            w = self.torch.zeros_like(r, requires_grad=True)
            (transposed,) = grad(r, x, w, create_graph=True)
            (forward,) = grad(transposed, w, v, retain_graph=True)
            return grad(r, x, forward)[0]

        return product

    def _scalar(self, value, what):
        if not isinstance(value, self.torch.Tensor):
            raise TypeError(f"{what} is a {type(value).__name__}. It must be a tensor with one entry, on x0's GPU")
        if value.numel() != 1:
            raise ValueError(f"{what} has shape {tuple(value.shape)}. It must have one entry")
        if not value.requires_grad:
            raise TypeError(f"autograd sees no dependence of {what} on x. Use PyTorch's functions of x, or give jac")
        return value


def _watching_operations(torch, what, stream, kept, vectors):
    """Refuses PyTorch's operations that a recording cannot hold, by name; keeps the tensors that others read and did not make."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    aten = torch.ops.aten
    made = set()

    def tensors(tree):
        return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]

    def storage(tensor):
        # Sparse tensors have several, and are known by themselves.
        return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else ("sparse", id(tensor))

    known = {storage(vector) for vector in vectors}

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
            given = tensors((args, kwargs or {}))
            on_gpu = any(tensor.is_cuda for tensor in given)
            tags = operation.tags
            # The allocator would later record events in streams that are gone.
            if torch.cuda.current_stream(stream.device).cuda_stream != stream.cuda_stream or (
                operation.overloadpacket is aten.record_stream
            ):
                raise refused(
                    what,
                    f"{operation} works on another stream than the one in which the function is called",
                    "Leave streams out: one after another is how a recording runs its kernels anyway",
                )
            if torch.Tag.nondeterministic_seeded in tags:
                raise refused(
                    what,
                    f"{operation} draws random numbers, and a recording would use the same ones again and again",
                    "Draw them before, into a tensor, and write new ones there between solves",
                )
            if on_gpu and torch.Tag.data_dependent_output in tags:
                raise refused(
                    what,
                    f"{operation} hands a number of the GPU's to the host, as .item(), float() and `if` do",
                    "Leave it in a tensor, and decisions to torch.where",
                )
            by_numbers = operation.overloadpacket is aten.index and all(t.dtype is not torch.bool for t in given[1:])
            if on_gpu and torch.Tag.dynamic_output_shape in tags and not by_numbers:
                raise refused(
                    what,
                    f"the shape of what {operation} makes depends on values, which the host must wait for",
                    "Use a mask and torch.where",
                )
            devices = {tensor.device.type for tensor in given}
            if kwargs and kwargs.get("device") is not None:
                devices.add(kwargs["device"].type)
            if operation.overloadpacket in (aten._to_copy, aten.copy_) and len(devices) > 1:
                raise refused(
                    what, f"{operation} copies between host memory and the GPU", "Make and move tensors before, once"
                )
            result = operation(*args, **(kwargs or {}))
            for tensor in given:
                if tensor.is_cuda and storage(tensor) not in made and storage(tensor) not in known:
                    known.add(storage(tensor))
                    kept.append(tensor)
            made.update(storage(tensor) for tensor in tensors(result) if storage(tensor) not in known)
            return result

    return Watch()


class CupyFunctions(Functions):
    """CuPy's, likewise. They come with their derivatives."""

    differentiates = differentiates_twice = False

    def __init__(self, like):
        self.cupy = cupy = sys.modules["cupy"]
        self.device = like.device
        self.dtype = np.dtype(like.dtype)
        self._pool = cupy.cuda.MemoryPool()

    @property
    def device_index(self):
        return self.device.id

    def array(self, address, shape, dtype=None):
        return self.cupy.asarray(_Memory(address, shape, dtype or self.dtype))

    def copy(self, array):
        return self.cupy.array(array, order="C", copy=True)

    def ones(self, size):
        with self.device:
            return self.cupy.ones(size, self.dtype)

    def stack(self, arrays):
        return self.cupy.stack(arrays)

    def to_numpy(self, array):
        return self.cupy.asnumpy(array)

    @contextlib.contextmanager
    def on(self, stream):
        cuda = self.cupy.cuda
        here = cuda.Stream.null if stream in DEFAULT_STREAMS else cuda.ExternalStream(stream, self.device.id)
        with self.device, here, cuda.using_allocator(self._pool.malloc):
            yield

    @contextlib.contextmanager
    def recording(self):
        yield

    def rehearse(self, what, call, vectors):
        with self.device:
            stream = self.cupy.cuda.Stream(non_blocking=True)
            self.cupy.cuda.get_current_stream().synchronize()
        with self.on(stream.ptr):
            for _ in range(REHEARSALS):
                call()
        stream.synchronize()


class Call:
    """A function as the core calls it: with the addresses of a stream, of vectors to read, and of memory for its results.

    Parameters
    ----------
    functions : TorchFunctions, CupyFunctions or WarpFunctions
    what : str
        What to call it in messages.
    function : function
        Of vectors; returns a result for each of `results`, in a tuple.
    size : int
        Of its vectors.
    results : dict
        What to call each result, and how many entries of what type it has.
    """

    def __init__(self, functions, what, function, size, results):
        self._functions, self._what, self._function = functions, what, function
        self._size, self._results = size, results

    def __call__(self, stream, *addresses):
        count = len(self._results)
        with self._functions.on(stream):
            # Copies: whoever keeps one, as tracebacks do, must not hold memory of a solver that is gone; and one can be written to.
            vectors = [
                self._functions.copy(self._functions.array(address, (self._size,))) for address in addresses[:-count]
            ]
            for address, (what, (size, dtype)), result in zip(
                addresses[-count:], self._results.items(), self._returned(*vectors)
            ):
                self._functions.write(address, size, dtype, self._checked(result, size, what))

    def rehearse(self, *vectors):
        """Calls the function with such vectors before it is recorded."""

        def call():
            for (name, (size, _)), result in zip(self._results.items(), self._returned(*vectors)):
                self._checked(result, size, name)

        self._functions.rehearse(self._what, call, vectors)

    def _returned(self, *vectors):
        returned = self._function(*vectors)
        if not isinstance(returned, (tuple, list)) or len(returned) != len(self._results):
            raise TypeError(f"{self._what} must return {len(self._results)} arrays, {' and '.join(self._results)}")
        return returned

    def _checked(self, result, size, what):
        if hasattr(result, "detach"):
            result = result.detach()
        if not is_on_gpu(result):
            raise TypeError(f"{what} is a {type(result).__name__}. It must be an array on x0's GPU")
        interface = result.__cuda_array_interface__
        if np.dtype(interface["typestr"]).kind != "f":
            raise TypeError(f"{what} has numbers of type {np.dtype(interface['typestr'])}. They must be real")
        if math.prod(interface["shape"]) != size:
            raise ValueError(f"{what} has shape {tuple(interface['shape'])}. It must have {size} entries")
        return result
