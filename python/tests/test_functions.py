"""Functions against SciPy's, and what they take and refuse."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
import whilst
from conftest import convection, poisson, relative_residual

SYMMETRIC = [whilst.cg, whilst.pipelined_cg, whilst.flexible_cg, whilst.refined_cg, whilst.cr, whilst.minres]
ANY_SQUARE = [
    whilst.bicgstab,
    whilst.bicgstabl,
    whilst.idr,
    whilst.gmres,
    whilst.fgmres,
    whilst.cgs,
    whilst.tfqmr,
    whilst.solve,
]
SCIPY_HAS = ["cg", "minres", "bicgstab", "gmres", "cgs", "tfqmr"]


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-10), (np.float32, 1e-4)])
@pytest.mark.parametrize("function", SYMMETRIC + ANY_SQUARE, ids=lambda f: f.__name__)
def test_solution_is_that_of_a_direct_solver(function, dtype, rtol, generator):
    A = poisson(12, dtype) if function in SYMMETRIC else convection(150, dtype)
    b = generator.standard_normal(A.shape[0]).astype(dtype)
    x, info = function(A, b, rtol=rtol, maxiter=2000)
    assert info == 0
    assert x.dtype == dtype and x.shape == b.shape and isinstance(x, np.ndarray)
    assert relative_residual(A, b, x) <= rtol * 1.001
    exact = linalg.spsolve(A.astype(np.float64).tocsc(), b.astype(np.float64))
    condition = np.linalg.cond(A.toarray().astype(np.float64))
    assert np.linalg.norm(x - exact) <= 2 * condition * rtol * np.linalg.norm(exact)


@pytest.mark.parametrize("function", [whilst.chebyshev, whilst.richardson], ids=lambda f: f.__name__)
def test_stationary_methods(function):
    A, b = poisson(5), np.ones(25)
    x, info = function(A, b, rtol=1e-8, maxiter=5000)
    assert info == 0 and relative_residual(A, b, x) <= 1e-8


@pytest.mark.parametrize("name", SCIPY_HAS)
def test_arguments_are_those_of_scipy(name):
    import inspect

    ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (whilst, linalg))
    if "tol" in theirs:
        pytest.skip("this SciPy still has the arguments of old")
    assert list(theirs) == [key for key in ours if key in theirs]  # in the same order
    for key, parameter in theirs.items():
        assert ours[key].kind == parameter.kind and ours[key].default == parameter.default, key


@pytest.mark.parametrize("name", SCIPY_HAS)
def test_by_hand(name):
    # 2 x + y = 3, x + 3 y = 5: x = 4/5, y = 7/5.
    x, info = getattr(whilst, name)(np.array([[2.0, 1.0], [1.0, 3.0]]), [3, 5], rtol=1e-12)
    assert info == 0
    np.testing.assert_allclose(x, [0.8, 1.4], rtol=1e-11)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
def test_every_sparse_format(container, format):
    A = container(poisson(6)).asformat(format)
    b = np.arange(36.0)
    x, info = whilst.cg(A, b, rtol=1e-10)
    assert info == 0 and relative_residual(A, b, x) <= 1e-10


def test_dense_matrices_and_lists():
    b = [1.0, 2.0, 4.0]
    dense = [[4, 1, 0], [1, 3, 1], [0, 1, 2]]
    expected = np.linalg.solve(dense, b)
    for A in (dense, np.array(dense), np.asfortranarray(dense, np.float64), np.array(dense, np.float32)):
        x, info = whilst.cg(A, b, rtol=1e-12)
        assert info == 0
        np.testing.assert_allclose(x, expected, rtol=1e-10)


def test_types_as_scipy_converts_them():
    A = poisson(4)
    for kind in (np.int8, np.int64, np.uint16, np.bool_, np.float16, np.longdouble, ">f8", np.float32):
        x, info = whilst.cg(A.astype(np.float64), np.ones(16).astype(kind), rtol=1e-6)
        assert info == 0 and x.dtype == np.float64
    assert whilst.cg(A.astype(np.float32), np.ones(16, np.float32))[0].dtype == np.float32
    assert whilst.cg(A.astype(np.float32), np.ones(16))[0].dtype == np.float64
    assert whilst.cg(A.astype(int), np.ones(16, np.float32))[0].dtype == np.float64


def test_complex_numbers_are_refused_with_the_cure():
    for A, b in ((poisson(3) * 1j, np.ones(9)), (poisson(3), 1j * np.ones(9)), (np.eye(9) * 1j, np.ones(9))):
        with pytest.raises(TypeError, match="twice the size"):
            whilst.cg(A, b)


def test_arrays_are_read_where_they_lie_and_left_alone():
    A, b, x0 = poisson(5), np.ones(25), np.full(25, 3.0)
    before = (A.data.copy(), b.copy(), x0.copy())
    for array in (A.data, A.indices, A.indptr, b, x0):
        array.flags.writeable = False
    x, info = whilst.cg(A, b, x0)
    assert info == 0 and not np.shares_memory(x, x0)
    for now, then in zip((A.data, b, x0), before):
        np.testing.assert_array_equal(now, then)


def test_strides_shapes_and_alignment():
    A = poisson(5)
    expected = whilst.cg(A, np.arange(25.0), rtol=1e-12)[0]
    apart = np.zeros(50)
    apart[::2] = np.arange(25.0)
    odd = np.zeros(25 * 8 + 1, np.uint8)[1:].view(np.float64)
    odd[:] = np.arange(25.0)
    backwards = np.arange(25.0)[::-1].copy()[::-1]
    for b in (apart[::2], odd, backwards, np.arange(25.0).reshape(25, 1), range(25)):
        x, _ = whilst.cg(A, b, rtol=1e-12)
        np.testing.assert_array_equal(x, expected)


def test_start_and_zero_right_hand_side():
    A, solution = poisson(6), np.linspace(-1, 1, 36)
    x, info = whilst.cg(A, A @ solution, solution)
    assert info == 0
    np.testing.assert_array_equal(x, solution)  # zero iterations: to the bit
    x, info = whilst.cg(A, np.zeros(36), np.ones(36))
    assert info == 0 and not x.any()
    x, info = whilst.cg(A, np.ones(36), "Mb", M=np.eye(36) / 4)
    assert info == 0


def test_tolerances():
    A, b = poisson(8), np.ones(64)
    assert relative_residual(A, b, whilst.cg(A, b, rtol=0, atol=1e-3)[0]) * 8 <= 1e-3
    assert whilst.cg(A, b, rtol=np.inf)[1] == 0
    assert whilst.cg(A, b, atol=np.inf)[1] == 0
    for wrong in (-1, None, "legacy", np.nan):
        with pytest.raises(ValueError, match="tol is"):
            whilst.cg(A, b, atol=wrong)
        with pytest.raises(ValueError, match="tol is"):
            whilst.cg(A, b, rtol=wrong)


def test_info_tells_how_it_ended():
    A, b = poisson(12), np.ones(144)
    assert whilst.cg(A, b, maxiter=3)[1] == 3
    assert whilst.gmres(A, b, maxiter=2, restart=3)[1] == 2
    assert whilst.cg(sparse.diags_array([1.0, -1.0]), [1.0, 1.0])[1] < 0  # indefinite
    assert whilst.cg(A, np.full(144, np.nan))[1] == -9
    x, info = whilst.cg(A, b, rtol=1e-300)
    assert info > 0 and np.isfinite(x).all()  # rounding
    for wrong in (-1, 1.5, True):
        with pytest.raises(ValueError, match="maxiter is"):
            whilst.cg(A, b, maxiter=wrong)


def test_callbacks_get_what_scipy_gives_them():
    A, b = poisson(4), np.arange(16.0)
    ours, theirs = [], []
    x, info = whilst.cg(A, b, rtol=1e-8, callback=lambda xk: ours.append(xk))
    linalg.cg(A, b, rtol=1e-8, callback=lambda xk: theirs.append(xk.copy()))
    assert info == 0 and abs(len(ours) - len(theirs)) <= 1
    # The first iterates are the same but for rounding: the method's coefficients come from sums in another order.
    for mine, other in list(zip(ours, theirs))[:5]:
        np.testing.assert_allclose(mine, other, rtol=1e4 * np.finfo(float).eps, atol=1e-12)
    np.testing.assert_array_equal(ours[-1], x)

    norms = []
    whilst.cg(A, b, rtol=1e-8, callback=norms.append, callback_type="pr_norm")
    assert len(norms) >= len(ours) and all(isinstance(norm, float) for norm in norms)
    assert norms[2] == pytest.approx(relative_residual(A, b, ours[2]), rel=1e-6)


def test_callback_of_gmres():
    A, b = convection(40), np.ones(40)
    calls = []
    with pytest.warns(DeprecationWarning, match="callback_type"):
        _, info = whilst.gmres(A, b, rtol=1e-12, maxiter=2, restart=10, callback=calls.append)
    assert info == 2 and len(calls) == 2  # iterations
    calls.clear()
    _, info = whilst.gmres(A, b, rtol=1e-12, maxiter=2, restart=4, callback=calls.append, callback_type="x")
    assert info == 2 and len(calls) == 2 and calls[0].shape == (40,)  # cycles
    with pytest.raises(ValueError, match="callback_type"):
        whilst.gmres(A, b, callback=calls.append, callback_type="y")


def test_an_exception_in_a_callback_passes_through():
    def stop(_):
        raise KeyError("enough")

    for kind in ("x", "pr_norm"):
        with pytest.raises(KeyError, match="enough"):
            whilst.cg(poisson(5), np.ones(25), callback=stop, callback_type=kind)
    assert whilst.cg(poisson(5), np.ones(25))[1] == 0


def test_every_kind_of_preconditioner():
    A, b = poisson(20), np.ones(400)
    plain = []
    whilst.cg(A, b, rtol=1e-8, callback=plain.append, callback_type="pr_norm")
    inverse = linalg.splu(A.tocsc())
    for M in (
        "jacobi", "amg", "amg,strength=0.1", "ic", sparse.diags_array(1 / A.diagonal()), np.diag(1 / A.diagonal()),
        linalg.LinearOperator(A.shape, inverse.solve), inverse.solve, lambda r: r.reshape(-1, 1) / 4,
    ):  # fmt: skip
        with_M = []
        x, info = whilst.cg(A, b, rtol=1e-8, M=M, callback=with_M.append, callback_type="pr_norm")
        assert info == 0 and relative_residual(A, b, x) <= 1e-8
        assert len(with_M) <= len(plain) + 1
    with pytest.raises(whilst.Error, match="there is no preconditioner called 'ilo'"):
        whilst.cg(A, b, M="ilo")
    with pytest.raises(TypeError, match="M is a"):
        whilst.cg(A, b, M=3.5)
    with pytest.raises(ValueError, match="M has shape"):
        whilst.cg(A, b, M=np.eye(3))


def test_operators():
    A, b = convection(60), np.ones(60)
    calls = []

    class Operator:  # without a dtype
        shape = A.shape

        def matvec(self, x):
            calls.append(x)  # which may be kept
            return A @ x

    for operator in (
        Operator(),
        linalg.aslinearoperator(A),
        linalg.LinearOperator(A.shape, lambda x: A @ x, dtype=float),
    ):
        x, info = whilst.bicgstab(operator, b, rtol=1e-9)
        assert info == 0 and relative_residual(A, b, x) <= 1e-9
    assert all(np.isfinite(kept).all() for kept in calls)

    class Wrong(Operator):
        def matvec(self, x):
            return np.ones(3)

    with pytest.raises(ValueError, match=r"A.matvec\(x\) has shape \(3,\)"):
        whilst.bicgstab(Wrong(), b)

    class Broken(Operator):
        def matvec(self, x):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        whilst.bicgstab(Broken(), b)


def test_minres_shift_and_check():
    A, b = poisson(5), np.ones(25)
    shifted = A - 0.3 * sparse.eye_array(25)
    for given in (A, A.toarray(), linalg.aslinearoperator(A)):
        x, info = whilst.minres(given, b, shift=0.3, rtol=1e-9, check=True)
        assert info == 0 and relative_residual(shifted, b, x) <= 1e-9
    with pytest.raises(ValueError, match="not symmetric"):
        whilst.minres(convection(9), np.ones(9), check=True)


def test_options_of_the_library():
    A, b = poisson(8), np.ones(64)
    x, info = whilst.cg(A, b, executor="host", threads=1, format="sell")
    assert info == 0
    with pytest.raises(TypeError, match="no option called 'treads'.*threads"):
        whilst.cg(A, b, treads=1)
    with pytest.raises(TypeError, match="max_iterations is no option here"):
        whilst.cg(A, b, max_iterations=1)
    with pytest.raises(whilst.Error, match="there is none called 'hots'"):
        whilst.cg(A, b, executor="hots")
    with pytest.raises(TypeError, match="threads is of type"):
        whilst.cg(A, b, threads=object())
    with pytest.raises(TypeError):
        whilst.cg(A, b, None, 1e-5)  # tolerances go by name


def test_hostile_matrices():
    empty = sparse.csr_array((3, 3))
    for function in (whilst.cg, whilst.bicgstab, whilst.gmres, whilst.minres):
        x, info = function(empty, np.ones(3))
        assert info != 0 and np.isfinite(x).all()
        assert function([[4.0]], [2.0], rtol=1e-12)[0] == pytest.approx([0.5])
        x, info = function(sparse.csr_array((0, 0)), np.zeros(0))
        assert info == 0 and x.shape == (0,)
        x, info = function(np.array([[np.nan, 0], [0, 1.0]]), [1.0, 1.0])
        assert info < 0
    dense_row = sparse.eye_array(300, format="lil") * 400.0
    dense_row[0, :] = 1
    dense_row[:, 0] = 1
    dense_row[0, 0] = 1000
    assert whilst.cg(dense_row, np.ones(300))[1] == 0


def test_duplicates_count_as_their_sum():
    A = sparse.csr_array(
        (np.array([1.0, 1.0, 4.0, 1.0, 1.0]), np.array([0, 0, 1, 0, 1]), np.array([0, 2, 5])), shape=(2, 2)
    )
    A.has_canonical_format = False
    x, info = whilst.gmres(A, [2.0, 6.0], rtol=1e-12, M="jacobi")  # [[2, 0], [1, 5]]
    assert info == 0
    np.testing.assert_allclose(x, [1, 1], rtol=1e-11)
    assert A.nnz == 5  # untouched


def test_broken_matrices_are_refused():
    def broken(indptr, indices, data=(1.0, 1.0), shape=(2, 2)):
        A = sparse.csr_array((2, 2))
        A.indptr, A.indices, A.data = np.array(indptr, np.int32), np.array(indices), np.array(data)
        A.has_canonical_format = True
        return A

    for A in (broken([0, 1, 2], [0, 7]), broken([0, 1, 2], [0, -1]), broken([0, 1, 2], np.array([0, 2**40])), broken([1, 1, 2], [0, 1]),
              broken([0, 3, 2], [0, 1]), broken([0, 1, 9], [0, 1]), broken([0, 1], [0])):  # fmt: skip
        with pytest.raises((whilst.Error, ValueError)):
            whilst.cg(A, [1.0, 1.0])


def test_shapes_are_checked():
    A = poisson(3)
    for b in (np.ones(8), np.ones((9, 2)), np.ones((1, 9)), 1.0):
        with pytest.raises(ValueError, match="b has shape"):
            whilst.cg(A, b)
    with pytest.raises(ValueError, match="x0 has shape"):
        whilst.cg(A, np.ones(9), np.ones(8))
    with pytest.raises(ValueError, match="needs a square one"):
        whilst.cg(A[:5], np.ones(5))
    with pytest.raises(ValueError, match="two dimensions"):
        whilst.cg(np.ones(3), np.ones(3))
    with pytest.raises(TypeError):
        whilst.cg(A, ["a"] * 9)
    with pytest.raises(TypeError):
        whilst.cg(object(), np.ones(9))
    with pytest.raises(TypeError, match="callback"):
        whilst.cg(A, np.ones(9), callback=3)


def test_nothing_is_warned_of_or_printed(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in SYMMETRIC + ANY_SQUARE:
            function(poisson(3), np.ones(9))
    assert capfd.readouterr() == ("", "")


def test_version_machine_and_cache():
    assert whilst.__version__.count(".") == 2
    machine = whilst.machine()
    assert machine["executors"]["host"] is True
    whilst.cg(poisson(3), np.ones(9))
    assert "cg" in whilst.describe_cache()
    whilst.reset()
