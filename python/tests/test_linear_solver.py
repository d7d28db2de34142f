"""whilst.LinearSolver, its reports and tickets."""

import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
import whilst
from conftest import convection, poisson, relative_residual


def test_many_right_hand_sides(generator):
    A = poisson(10)
    solver = whilst.LinearSolver(A, "cg", "jacobi", rtol=1e-10)
    assert (
        solver.shape == (100, 100)
        and solver.dtype == np.float64
        and solver.executor in ("host", "stream", "graph", "resident")
    )
    assert solver.report is None
    for _ in range(3):
        b = generator.standard_normal(100)
        x, report = solver.solve(b)
        assert report.converged and report and solver.report is report
        assert relative_residual(A, b, x) <= 1e-10
        assert report.relative_residual == pytest.approx(relative_residual(A, b, x), rel=1e-3)
        assert report.rhs_norm == pytest.approx(np.linalg.norm(b))
    same, report = solver.solve(b, x)
    assert report.iterations == 0
    np.testing.assert_array_equal(same, x)


def test_report():
    _, report = whilst.LinearSolver(poisson(10), rtol=1e-8, executor="host").solve(np.ones(100))
    assert report.reason == "converged_rtol" and report.reason_code == 2
    assert report.method == "cg" and report.executor == "host" and report.precision == "double"
    assert report.rows == 100 and report.nonzeros == poisson(10).nnz
    assert report.history.dtype == np.float64 and len(report.history) == len(report.history_iterations)
    assert report.history_iterations[-1] == report.iterations
    assert "converged" in repr(report) and "cg on host" in repr(report)
    again = pickle.loads(pickle.dumps(report))
    assert again.message == report.message and np.array_equal(again.history, report.history)
    with pytest.raises(AttributeError):
        report.iterations = 3


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    _, report = whilst.LinearSolver(poisson(10)).solve(np.ones(100))
    axes = report.plot()
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), report.history)
    assert report.plot(axes) is axes and len(axes.lines) == 2


def test_every_option_by_its_default():
    for key, text in whilst.DEFAULTS.items():
        if text:
            whilst.LinearSolver(poisson(3), **({} if key in ("method", "preconditioner") else {key: text}))
    solver = whilst.LinearSolver(
        poisson(6),
        "cg",
        "amg,strength=0.1",
        amg_coarsest_rows=4,
        keep_best=False,
        deadline=5.0,
        deflation=np.ones(36),
        threads=np.int64(1),
    )
    assert solver.solve(np.ones(36))[1].converged
    with pytest.raises(TypeError, match="no option called 'rtoll'"):
        whilst.LinearSolver(poisson(3), rtoll=1)
    with pytest.raises(ValueError, match="settings after it"):
        whilst.LinearSolver(poisson(3), format="csr,threads=2")


def test_update_values():
    A = poisson(6)
    solver = whilst.LinearSolver(A, rtol=1e-10)
    b = np.ones(36)
    for factor in (2.0, 5.0):
        solver.update_values(A.data * factor)
        assert relative_residual(A * factor, b, solver.solve(b)[0]) <= 1e-10
        solver.update_values(A * (factor + 1))
        assert relative_residual(A * (factor + 1), b, solver.solve(b)[0]) <= 1e-10
    with pytest.raises(ValueError, match="values has shape"):
        solver.update_values(np.ones(3))
    with pytest.raises(ValueError, match="has shape"):
        solver.update_values(poisson(5))
    with pytest.raises(ValueError, match="entries elsewhere"):
        solver.update_values(sparse.eye_array(36, format="csr"))
    with pytest.raises(TypeError, match="no values to update"):
        whilst.LinearSolver(linalg.aslinearoperator(A)).update_values(A.data)


def test_matrix_is_read_in_place_and_kept_alive():
    A = poisson(6)
    solver = whilst.LinearSolver(A, rtol=1e-10, executor="host")
    A.data *= 3  # read by the next solve
    b = np.ones(36)
    assert relative_residual(A, b, solver.solve(b)[0]) <= 1e-10
    kept = A.copy()
    del A
    rubbish = [np.full(160, np.nan) for _ in range(100)]
    assert relative_residual(kept, b, solver.solve(b)[0]) <= 1e-10
    del rubbish


def test_settings_of_later_solves():
    solver = whilst.LinearSolver(poisson(10), rtol=1e-10)
    b = np.ones(100)
    solver.set_max_iterations(2)
    assert solver.solve(b)[1].reason == "iteration_limit"
    solver.set_max_iterations(1000)
    solver.set_tolerances(1e-2)
    few = solver.solve(b)[1].iterations
    solver.set_tolerances(1e-12, 0)
    assert solver.solve(b)[1].iterations > few
    with pytest.raises(whilst.Error, match="deadline"):
        solver.set_deadline(-1)
    solver.cancel()  # harmless
    assert "cg" in solver.explain() and "host" in solver.memory() and solver.nbytes > 0 and "100 x 100" in repr(solver)


def test_functions_of_python():
    A, b = convection(50), np.ones(50)
    solver = whilst.LinearSolver(linalg.aslinearoperator(A), "bicgstab", lambda r: r / 3, rtol=1e-10)
    assert relative_residual(A, b, solver.solve(b)[0]) <= 1e-10
    rectangular = A[:, :30]
    least = whilst.LinearSolver(linalg.aslinearoperator(rectangular), "lsqr", rtol=1e-10)
    x, report = least.solve(b)
    assert report.reason == "converged_normal" and x.shape == (30,)
    np.testing.assert_allclose(x, np.linalg.lstsq(rectangular.toarray(), b, rcond=None)[0], rtol=1e-7)
    with pytest.raises(whilst.Error, match="diagonal"):
        whilst.LinearSolver(linalg.aslinearoperator(A), "bicgstab", "jacobi")


def test_callback():
    seen = []
    solver = whilst.LinearSolver(poisson(10), rtol=1e-8, executor="host")
    _, report = solver.solve(np.ones(100), callback=lambda iteration, norm: seen.append((iteration, norm)))
    assert [iteration for iteration, _ in seen] == sorted({iteration for iteration, _ in seen})
    assert seen[-1][0] == report.iterations

    def stop(iteration, norm):
        if iteration == 3:
            raise StopIteration

    with pytest.raises(StopIteration):
        solver.solve(np.ones(100), callback=stop)
    assert solver.solve(np.ones(100))[1].converged
    assert len(seen) == len({iteration for iteration, _ in seen})  # called no more


def test_cancel_within_a_callback():
    solver = whilst.LinearSolver(poisson(10), rtol=1e-8, executor="host")
    x, report = solver.solve(np.ones(100), callback=lambda iteration, norm: iteration == 4 and solver.cancel())
    assert report.reason == "cancelled" and np.isfinite(x).all()


def test_a_callback_that_asks_its_own_solver():
    b = np.ones(100)
    solver = whilst.LinearSolver(poisson(10), executor="host")
    with pytest.raises(whilst.Error, match="its own callbacks asks for another solve"):
        solver.solve(b, callback=lambda *_: solver.solve(b))
    other = whilst.LinearSolver(poisson(10), executor="host")
    assert solver.solve(b, callback=lambda *_: other.solve(b))[1].converged


def test_enqueue_in_host_memory():
    A, b, x = poisson(8), np.ones(64), np.zeros(64)
    solver = whilst.LinearSolver(A, rtol=1e-10, executor="host")
    ticket = solver.enqueue(b, x)
    assert ticket.done() and ticket.wait().converged and "done" in repr(ticket)
    assert relative_residual(A, b, x) <= 1e-10
    ticket.cancel()
    assert ticket.progress()[2] is False
    frozen = np.zeros(64)
    frozen.flags.writeable = False
    for wrong in (np.zeros(128)[::2], np.zeros(64, np.float32), frozen, [0.0] * 64):
        with pytest.raises((TypeError, ValueError)):
            solver.enqueue(b, wrong)
    with pytest.raises(ValueError, match="x has shape"):
        solver.enqueue(b, np.zeros(63))
    del solver
    assert ticket.wait().converged  # the ticket keeps it


def test_threads_share_a_solver_and_run_side_by_side(generator):
    A = poisson(12)
    shared = whilst.LinearSolver(A, rtol=1e-10)
    rights = generator.standard_normal((8, 144))
    results = [None] * 8

    def work(k):
        own = whilst.LinearSolver(A, rtol=1e-10)
        for _ in range(20):
            results[k] = (shared.solve(rights[k])[0], own.solve(rights[k])[0], whilst.cg(A, rights[k], rtol=1e-10)[0])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for b, (first, second, third) in zip(rights, results):
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first, third)


def test_the_gil_is_released():
    solver = whilst.LinearSolver(poisson(60), "richardson", rtol=0, max_iterations=20000, executor="host", threads=1)
    ticks = []
    thread = threading.Thread(target=solver.solve, args=(np.ones(3600),))
    thread.start()
    while thread.is_alive():
        ticks.append(None)
        threading.Event().wait(0.001)
    thread.join()
    assert len(ticks) > 20  # the solve takes a second or so, and this thread ran meanwhile


def test_settings_wait_for_a_solve_of_another_thread():
    """Which asks for the GIL meanwhile: neither may hold what the other waits for."""
    A = poisson(20)
    began = threading.Event()

    def product(x):
        began.set()
        return A @ x

    solver = whilst.LinearSolver(linalg.LinearOperator(A.shape, product, dtype=np.float64), "cg", rtol=1e-10)
    solving = threading.Thread(target=lambda: solver.solve(np.ones(400)))
    solving.start()
    began.wait()
    solver.set_tolerances(1e-6)
    solver.set_max_iterations(100)
    solver.set_deadline(60.0)
    solving.join(60)
    assert not solving.is_alive()


def test_values_of_rows_in_another_order():
    sorted_rows = poisson(6).tocsr()
    A = sorted_rows.copy()
    for i in range(A.shape[0]):
        here = slice(A.indptr[i], A.indptr[i + 1])
        A.indices[here], A.data[here] = A.indices[here][::-1].copy(), A.data[here][::-1].copy()
    A.has_sorted_indices = False
    A.data *= np.linspace(1, 2, A.nnz)
    solver = whilst.LinearSolver(A, "bicgstab", rtol=1e-10)
    b = np.ones(36)
    new = A.data * 3
    solver.update_values(new)
    x, report = solver.solve(b)
    assert report.converged
    other = sparse.csr_matrix((new, A.indices, A.indptr), A.shape)
    assert np.linalg.norm(b - other @ x) <= 1e-9 * np.linalg.norm(b)


@pytest.mark.parametrize("shape", [(12, 5), (5, 12)])
def test_preconditioner_of_least_squares(shape, generator):
    A = sparse.csr_matrix(generator.standard_normal(shape))
    b = generator.standard_normal(shape[0])
    scale = np.linspace(1, 2, shape[1])
    x, report = whilst.LinearSolver(A, "lsmr", lambda r: scale * r, rtol=1e-12).solve(b)
    assert report.converged and x.shape == (shape[1],)
    assert np.linalg.norm(A.T @ (b - A @ x)) <= 1e-8 * np.linalg.norm(A.T @ b)


def test_an_array_option_of_two_dimensions_is_refused():
    with pytest.raises(ValueError, match="one vector after another"):
        whilst.LinearSolver(poisson(4), deflation=np.ones((16, 2)))
