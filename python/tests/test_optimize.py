"""minimize, least_squares and root against SciPy's and closed forms."""

import numpy as np
import pytest
import scipy.optimize as optimize
import scipy.sparse as sparse
import whilst

START = np.array([-1.2, 1.0, -0.5, 0.8])


def test_minimize_rosenbrock():
    reference = {"jac": optimize.rosen_der, "hess": optimize.rosen_hess, "hessp": optimize.rosen_hess_prod}
    for method in ("BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg", "lbfgs", "conjugate-gradient-hz", None):
        second = (
            [{"hess": reference["hess"]}, {"hessp": reference["hessp"]}]
            if method in ("Newton-CG", "trust-ncg")
            else [{}]
        )
        for more in second:
            done = whilst.minimize(optimize.rosen, START, method=method, jac=reference["jac"], tol=1e-8, **more)
            assert done.success and done["success"] and done.status > 0 and done.nit > 0 and done.nfev >= done.nit
            np.testing.assert_allclose(done.x, 1, atol=1e-6)
            assert done.fun < 1e-12 and np.linalg.norm(done.jac) < 1e-7
    assert "success: True" in repr(done)
    default = whilst.minimize(optimize.rosen, START, jac=optimize.rosen_der)
    assert default.success and 1e-9 < np.linalg.norm(default.jac) <= 1e-5  # the usual gtol


def test_minimize_ways_to_give_the_gradient():
    def both(x, a):
        return a * float(x @ x), 2 * a * x

    for jac, fun in (
        (True, both),
        (lambda x, a: both(x, a)[1], lambda x, a: both(x, a)[0]),
        (None, lambda x, a: both(x, a)[0]),
    ):
        done = whilst.minimize(fun, [3.0, -1.0], args=(2.0,), jac=jac)
        assert done.success
        np.testing.assert_allclose(done.x, 0, atol=1e-5)
    assert whilst.minimize(lambda x: np.array([(x[0] - 2) ** 2]), 5.0).x == pytest.approx([2.0], abs=1e-6)


def test_minimize_ends_and_misuse():
    limited = whilst.minimize(optimize.rosen, START, jac=optimize.rosen_der, options={"maxiter": 2})
    assert not limited.success and limited.reason == "iteration_limit" and limited.nit == 2
    falls = whilst.minimize(lambda x: -(float(x[0]) ** 3), [1.0], jac=lambda x: -3 * x**2)
    assert not falls.success and falls.status < 0
    nan = whilst.minimize(lambda x: np.nan, [1.0], jac=lambda x: x)
    assert nan.reason == "nan_or_infinity"
    np.testing.assert_array_equal(nan.x, [1.0])
    with pytest.raises(ZeroDivisionError):
        whilst.minimize(lambda x: 1 / 0, [1.0])
    for wrong, problem in (
        ({"method": "SLSQP"}, "no method called 'SLSQP'"), ({"method": "Newton-CG"}, "needs hess"), ({"jac": "3-point"}, "jac is"),
        ({"jac": lambda x: x[:0]}, r"jac\(x\) has shape"), ({"x0": [[[1.0, 2.0]]]}, "x0 has shape"), ({"x0": np.zeros((0, 2))}, "no rows"), ({"x0": []}, "x0 has shape"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=problem):
            whilst.minimize(**{"fun": lambda x: float(x @ x), "x0": [1.0], **wrong})
    with pytest.raises(TypeError, match="no option called 'gtoll'"):
        whilst.minimize(optimize.rosen, START, options={"gtoll": 1})
    with pytest.raises(TypeError, match="complex"):
        whilst.minimize(optimize.rosen, [1j])
    with pytest.raises(ValueError, match=r"fun\(x\) has shape"):
        whilst.minimize(lambda x: x, START)


@pytest.mark.parametrize("jac", ["2-point", "dense", "sparse"])
def test_least_squares(jac, generator):
    t = np.linspace(0, 3, 40)
    y = 2.5 * np.exp(-1.3 * t) + 0.01 * generator.standard_normal(40)

    def model(x):
        return x[0] * np.exp(-x[1] * t) - y

    def derivative(x):
        J = np.column_stack((np.exp(-x[1] * t), -x[0] * t * np.exp(-x[1] * t)))
        return sparse.csr_array(J) if jac == "sparse" else J

    ours = whilst.least_squares(
        model, [1.0, 1.0], "2-point" if jac == "2-point" else derivative, xtol=1e-12, ftol=1e-14
    )
    theirs = optimize.least_squares(model, [1.0, 1.0], xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert ours.success
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-6)
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-9) and ours.fun.shape == (40,) and ours.optimality < 1e-5


def test_least_squares_misuse():
    with pytest.raises(ValueError, match="jac is 'cs'"):
        whilst.least_squares(lambda x: x, [1.0], "cs")
    with pytest.raises(ValueError, match=r"jac\(x\) has shape"):
        whilst.least_squares(lambda x: x, [1.0, 2.0], lambda x: np.ones((3, 2)))


@pytest.mark.parametrize("method", ["broyden1", "anderson"])
def test_root(method):
    # x = cos(x)/2 + a: a contraction.
    a = np.linspace(0, 1, 7)
    done = whilst.root(lambda x: x - 0.5 * np.cos(x) - a, np.zeros(7), method=method, tol=1e-11)
    assert done.success and np.linalg.norm(done.x - 0.5 * np.cos(done.x) - a) <= 1e-11
    assert np.linalg.norm(done.fun) <= 1e-11 and done.nfev >= done.nit
    np.testing.assert_allclose(done.x, optimize.root(lambda x: x - 0.5 * np.cos(x) - a, np.zeros(7)).x, atol=1e-8)


def test_root_misuse():
    with pytest.raises(ValueError, match="no method called 'hybr'"):
        whilst.root(lambda x: x, [1.0], method="hybr")
    with pytest.raises(ValueError, match=r"fun\(x\) has shape"):
        whilst.root(lambda x: x[:1], [1.0, 2.0])
    assert whilst.root(lambda x: x**2 + 1, [1.0], options={"maxiter": 30}).success is False


def test_several_starting_points():
    starts = np.array([START, START + 0.1, np.ones(4)])
    together = whilst.minimize(optimize.rosen, starts, method="L-BFGS-B", jac=optimize.rosen_der, tol=1e-8)
    assert (
        together.x.shape == (3, 4)
        and together.success.all()
        and together.fun.shape == (3,)
        and together.jac.shape == (3, 4)
    )
    for k, start in enumerate(starts):
        alone = whilst.minimize(optimize.rosen, start, method="L-BFGS-B", jac=optimize.rosen_der, tol=1e-8)
        np.testing.assert_array_equal(together.x[k], alone.x)
        assert together.nit[k] == alone.nit and together.nfev[k] == alone.nfev and together.message[k] == alone.message
    roots = whilst.root(lambda x: x + np.roll(x, -1) ** 2 / 4 - 1.25, np.zeros((2, 5)))
    np.testing.assert_allclose(roots.x, 1, atol=1e-9)
    t = np.linspace(0.0, 2.0, 21)
    fits = whilst.least_squares(lambda x: x[0] * np.exp(-x[1] * t) - 3 * np.exp(-1.5 * t), [[1.0, 1.0], [2.0, 1.0]])
    np.testing.assert_allclose(fits.x, [[3, 1.5]] * 2, rtol=1e-6)
    mixed = whilst.minimize(lambda x: float(x @ x), [[1.0, 1.0], [np.nan, 1.0]])
    assert list(mixed.success) == [True, False] and mixed.reason[1] == "nan_or_infinity"
    with pytest.raises(ValueError, match="ravel"):
        whilst.minimize(optimize.rosen, START.reshape(4, 1))
