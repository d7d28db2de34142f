"""The libraries whose functions can be recorded."""

from ._arrays import library_of
from ._gpu_functions import CupyFunctions, TorchFunctions
from ._warp_functions import WarpFunctions

_LIBRARIES = {"torch": TorchFunctions, "cupy": CupyFunctions, "warp": WarpFunctions}
_OF_JAX = (
    "JAX runs compiled functions in streams of its own, which nobody else can record. Write the function with PyTorch, whose "
    "tensors share memory with JAX's arrays: torch.from_dlpack(x0)"
)


def functions_like(array, what):
    """The library that an array on a GPU is from, for functions of such arrays."""
    library = library_of(array)
    if library not in _LIBRARIES:
        cure = _OF_JAX if library in ("jax", "jaxlib") else "Convert it"
        raise TypeError(
            f"{what} is a {type(array).__name__}, and only functions of PyTorch, CuPy and Warp arrays can be recorded. {cure}"
        )
    return _LIBRARIES[library](array)
