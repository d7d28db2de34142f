"""SciPy's own tests of its iterative solvers, with Whilst's functions in their place."""

import subprocess
import sys
from pathlib import Path

import pytest


def test_they_pass_but_for_the_known():
    pytest.importorskip("scipy", minversion="1.14", reason="tests of older versions use other names")
    script = Path(__file__).with_name("scipy_isolve.py")
    done = subprocess.run(
        [sys.executable, script, "--known", "-q", "--tb=short"], capture_output=True, text=True, timeout=200
    )
    if "not found" in done.stdout + done.stderr or done.returncode == 4:
        pytest.skip("this SciPy was installed without its tests")
    assert done.returncode == 0, done.stdout[-6000:]
    assert " passed" in done.stdout
