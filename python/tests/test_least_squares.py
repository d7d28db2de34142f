"""lsqr, lsmr and cgls against SciPy's and a direct solution."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
import whilst

FUNCTIONS = [whilst.lsqr, whilst.lsmr, whilst.cgls]


@pytest.fixture
def problem(generator):
    A = sparse.csr_array(generator.standard_normal((60, 20)) * (generator.random((60, 20)) < 0.3)) + sparse.eye_array(
        60, 20
    )
    return A.tocsr(), generator.standard_normal(60)


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
def test_arguments_are_those_of_scipy(name):
    ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (whilst, linalg))
    assert list(theirs) == list(ours)[: len(theirs)] and all(ours[key].default == theirs[key].default for key in theirs)


@pytest.mark.parametrize("damp", [0.0, 0.7])
@pytest.mark.parametrize("x0", [None, "given"])
@pytest.mark.parametrize("kind", ["matrix", "operator"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_solution(function, damp, x0, kind, problem, generator):
    A, b = problem
    start = None if x0 is None else generator.standard_normal(20)
    origin = np.zeros(20) if start is None else start
    stacked = np.vstack((A.toarray(), damp * np.eye(20)))
    expected = np.linalg.lstsq(stacked, np.concatenate((b, damp * origin)), rcond=None)[0]
    given = linalg.aslinearoperator(A) if kind == "operator" else A
    limit = {"iter_lim" if function is whilst.lsqr else "maxiter": 60}
    x, istop, iterations, *rest = function(given, b, damp, 1e-11, 1e-11, x0=start, **limit)
    assert istop == 2 and 0 < iterations <= 60
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-9)
    residual, whole = np.linalg.norm(A @ x - b), np.linalg.norm(stacked @ x - np.concatenate((b, damp * origin)))
    if function is whilst.lsqr:
        np.testing.assert_allclose(rest[:2], [residual, whole], rtol=1e-10)
        assert rest[5] == pytest.approx(np.linalg.norm(x))
    else:
        assert rest[0] == pytest.approx(whole) and rest[4] == pytest.approx(np.linalg.norm(x))


def test_as_many_values_as_scipy(problem):
    A, b = problem
    for name in ("lsqr", "lsmr"):
        ours, theirs = getattr(whilst, name)(A, b), getattr(linalg, name)(A, b)
        assert len(ours) == len(theirs)
        assert ours[1] == theirs[1] == 2
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-5)


def test_consistent_underdetermined_and_ends(problem):
    A, b = problem
    wide = A.T.tocsr()  # 20 x 60: the solution of least norm
    x, istop, *_ = whilst.lsqr(wide, b[:20], atol=1e-12, btol=1e-12)
    assert istop == 1
    np.testing.assert_allclose(x, np.linalg.pinv(wide.toarray()) @ b[:20], rtol=1e-7, atol=1e-9)
    assert whilst.lsqr(A, np.zeros(60))[1] == 0
    assert whilst.lsmr(A, b, maxiter=1)[1] == 7
    assert whilst.lsqr([[2.0]], 4.0)[0] == pytest.approx([2.0])


def test_refused(problem):
    A, b = problem
    with pytest.raises(ValueError, match="calc_var"):
        whilst.lsqr(A, b, calc_var=True)
    with pytest.raises(ValueError, match="b has shape"):
        whilst.lsqr(A, b[:-1])

    class NoTranspose:
        shape = (60, 20)

        def matvec(self, x):
            return A @ x

    with pytest.raises(TypeError, match="no rmatvec"):
        whilst.lsqr(NoTranspose(), b)
