"""python -m whilst."""

import os
import subprocess
import sys

import pytest
import whilst
from whilst.__main__ import program


def run(*arguments, **environment):
    command = [sys.executable, "-m", "whilst", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)


def test_is_the_program():
    if program() is None:
        pytest.skip("the command line was not built with this module")
    done = run("--version")
    assert done.returncode == 0 and whilst.__version__ in done.stdout
    assert run("no-such-command").returncode != 0


def test_without_the_program():
    done = run("info", WHILST_PROGRAM="/no/such/program")
    assert done.returncode == 1 and "was not built with this module" in done.stderr
