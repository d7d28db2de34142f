"""Functions of Warp's arrays as the library's loops call them: see _gpu_functions.py."""

import contextlib
import sys

import numpy as np

from ._gpu_functions import DEFAULT_STREAMS, REHEARSALS, Functions


class Pool:
    """Warp's allocator for what functions make: blocks are kept and used again, and go back to CUDA with the pool, which lives as
    long as an array that has one."""

    _SMALLEST = 512  # bytes: what CUDA aligns to

    def __init__(self, source):
        self._source, self._free, self._all = source, {}, []

    def _rounded(self, size):
        return -(-max(size, 1) // self._SMALLEST) * self._SMALLEST

    def allocate(self, size_in_bytes):
        size = self._rounded(size_in_bytes)
        free = self._free.setdefault(size, [])
        if not free:
            free.append(self._source.allocate(size))
            self._all.append((free[-1], size))
        return free.pop()

    def deallocate(self, ptr, size_in_bytes):
        self._free[self._rounded(size_in_bytes)].append(ptr)

    def __del__(self):
        for address, size in self._all:
            self._source.deallocate(address, size)


class WarpFunctions(Functions):
    """As TorchFunctions: kernels are recorded, and gradients are a tape's."""

    differentiates, differentiates_twice = True, False

    def __init__(self, like):
        self.warp = warp = sys.modules["warp"]
        if not hasattr(warp, "set_device_allocator"):
            raise TypeError(
                f"Warp {warp.__version__} takes its memory from CUDA alone, and a recording needs a pool. Install a later one, which "
                "has set_device_allocator"
            )
        self.device = like.device
        self.dtype = np.dtype(like.__cuda_array_interface__["typestr"])
        self._pool = Pool(self.device.default_allocator)

    @property
    def device_index(self):
        return self.device.ordinal

    def _type(self, dtype):
        return self.warp.dtype_from_numpy(dtype)

    def array(self, address, shape, dtype=None):
        return self.warp.array(ptr=address, shape=shape, dtype=self._type(dtype or self.dtype), device=self.device)

    def copy(self, array):
        return self.warp.clone(array, requires_grad=False)

    def ones(self, size):
        return self.warp.ones(size, dtype=self._type(self.dtype), device=self.device)

    def stack(self, arrays):
        made = self.warp.empty((len(arrays), arrays[0].size), dtype=arrays[0].dtype, device=self.device)
        for k, array in enumerate(arrays):
            self.warp.copy(made[k], array)
        return made

    def to_numpy(self, array):
        return array.numpy()

    def write(self, address, size, dtype, result):
        warp, to = self.warp, self.array(address, (size,), dtype)
        result = result.contiguous()
        of = np.dtype(result.__cuda_array_interface__["typestr"])
        flat = self.array(result.ptr, (size,), of)  # of vectors, too
        if of == dtype:
            warp.copy(to, flat)
        else:
            warp.utils.array_cast(flat, to)

    @contextlib.contextmanager
    def on(self, stream):
        warp, device = self.warp, self.device
        if not isinstance(stream, warp.Stream):
            default = stream in DEFAULT_STREAMS
            stream = device.null_stream if default else warp.Stream(device, cuda_stream=stream)
        before = getattr(device, "_custom_allocator", None)
        warp.set_device_allocator(device, self._pool)
        try:
            # Without a wait for the stream before: a stream that is captured must not depend on one that is not.
            with warp.ScopedStream(stream, sync_enter=False):
                yield
        finally:
            warp.set_device_allocator(device, before)

    @contextlib.contextmanager
    def recording(self):
        yield

    def rehearse(self, what, call, vectors):
        warp = self.warp
        warp.synchronize_stream(warp.get_stream(self.device))
        stream = warp.Stream(self.device)
        with self.on(stream):
            for _ in range(REHEARSALS):
                call()
        warp.synchronize_stream(stream)

    def value_and_gradient(self, fun, args):
        warp = self.warp

        def both(x):
            x.requires_grad = True
            with warp.Tape() as tape:
                value = fun(x, *args)
            if not isinstance(value, warp.array):
                raise TypeError(f"fun(x) is a {type(value).__name__}. It must be an array with one entry, on x0's GPU")
            if value.size != 1:
                raise ValueError(f"fun(x) has shape {tuple(value.shape)}. It must have one entry")
            if not value.requires_grad:
                raise TypeError(
                    "fun(x) has no gradient. Make it, and what leads to it, with requires_grad=True, or give jac"
                )
            tape.backward(value)
            gradient = warp.clone(x.grad, requires_grad=False)
            tape.zero()  # of arrays that outlive the call, for the next one
            return value, gradient

        return both
