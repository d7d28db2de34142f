"""Runs SciPy's own tests of its iterative solvers with Whilst's functions in place of SciPy's: python scipy_isolve.py [ARGUMENT of
pytest...]. docs/python.md explains those that fail; --known leaves them out."""

import importlib
import sys

import pytest
import scipy.sparse.linalg
import scipy.sparse.linalg._isolve as isolve
import whilst

REPLACED = ("bicgstab", "cg", "cgs", "gmres", "lsmr", "lsqr", "minres", "tfqmr")
TESTS = ("test_iterative", "test_lsmr", "test_lsqr", "test_minres")

# Tests that cannot pass, by parts of their names, beside those with complex numbers.
KNOWN = (
    "TestGMRES::test_abi",
    "TestGMRES::test_callback",
    "test_defective_precond_breakdown",
    "test_precond_inverse",
    "testComplex",
)
OTHERS = ("bicg", "gcrotmk", "lgmres", "qmr")


class Chosen:
    """Leaves out tests of functions that Whilst does not have and, if asked, known failures."""

    def __init__(self, known):
        self.known = known

    def keeps(self, item):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        case = parameters.get("case")
        solver = parameters.get("solver", getattr(case, "solver", None))
        if getattr(solver, "__name__", "") in OTHERS or "TestQMR" in item.nodeid:
            return False
        if not self.known:
            return True
        matrix_is_complex = case is not None and case.A.dtype.kind == "c"
        # "TestGMRES::test_callback" is not to stand for test_callback_type, whose name goes on.
        named = any(item.nodeid.endswith(part) or f"{part}[" in item.nodeid for part in KNOWN[:4])
        return not (matrix_is_complex or named or KNOWN[4] in item.nodeid)

    def pytest_collection_modifyitems(self, config, items):
        config.hook.pytest_deselected(items=[item for item in items if not self.keeps(item)])
        items[:] = [item for item in items if self.keeps(item)]


def main(arguments):
    known = "--known" in arguments
    for name in REPLACED:
        for module in (isolve, scipy.sparse.linalg):
            setattr(module, name, getattr(whilst, name))
    for name in ("lsqr", "lsmr"):  # tests import them from their modules
        setattr(importlib.import_module(f"scipy.sparse.linalg._isolve.{name}"), name, getattr(whilst, name))
    names = [f"scipy.sparse.linalg._isolve.tests.{test}" for test in TESTS]
    others = [argument for argument in arguments if argument != "--known"]
    return pytest.main(["-p", "no:cacheprovider", "--pyargs", *names, *others], plugins=[Chosen(known)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
