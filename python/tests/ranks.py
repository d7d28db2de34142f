"""What tests of several ranks share: threads, and processes under mpirun where mpi4py is there."""

import os
import shutil
import subprocess
import sys
import threading

import pytest
import whilst


def on_ranks(size, work):
    """What work(group) returns, or the exception that it raises, on each rank of a group of threads."""
    results = [None] * size

    def run(group):
        rank = group.rank
        try:
            results[rank] = work(group)
        except Exception as problem:
            results[rank] = problem

    threads = [threading.Thread(target=run, args=(group,)) for group in whilst.Group.threads(size)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return results


def printed_by_processes(size, text, folder):
    """What so many processes print that run this program; the test is skipped where there is no MPI."""
    pytest.importorskip("mpi4py")
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("no mpirun")
    program = folder / "program.py"
    program.write_text(text)
    # Open MPI must be told to take more processes than cores, and a super-user's.
    names = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"]
    environment = os.environ | dict.fromkeys(names, "1")
    environment["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    done = subprocess.run(
        [mpirun, "-n", str(size), sys.executable, program], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
