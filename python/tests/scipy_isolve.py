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

# Tests that cannot pass, by the ends of their names or of the names before their parameters, beside those whose case is complex.
KNOWN = (
    "TestGMRES::test_abi",
    "TestGMRES::test_callback",
    "test_defective_precond_breakdown",
    "test_lsmr_maxiter_zero_with_show",
    "test_nD",
    "test_precond_inverse",
)
COMPLEX = ("testComplex", "get_sample_problem_complex", "non_default_x0[True]")
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
        named = item.nodeid.partition("[")[0].endswith(KNOWN)
        return not (matrix_is_complex or named or any(part in item.nodeid for part in COMPLEX))

    def pytest_collection_modifyitems(self, config, items):
        config.hook.pytest_deselected(items=[item for item in items if not self.keeps(item)])
        items[:] = [item for item in items if self.keeps(item)]


def main(arguments):
    known = "--known" in arguments
    # From 1.18 on, SciPy's tests look up which kinds of array a function of SciPy's takes.
    table = getattr(importlib.import_module("scipy._lib._array_api"), "xp_capabilities_table", {})
    for name in REPLACED:
        if getattr(isolve, name) in table:
            table[getattr(whilst, name)] = table[getattr(isolve, name)]
        for module in (isolve, scipy.sparse.linalg):
            setattr(module, name, getattr(whilst, name))
    for name in ("lsqr", "lsmr"):  # tests import them from their modules
        setattr(importlib.import_module(f"scipy.sparse.linalg._isolve.{name}"), name, getattr(whilst, name))
    names = [f"scipy.sparse.linalg._isolve.tests.{test}" for test in TESTS]
    others = [argument for argument in arguments if argument != "--known"]
    return pytest.main(["-p", "no:cacheprovider", "--pyargs", *names, *others], plugins=[Chosen(known)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
