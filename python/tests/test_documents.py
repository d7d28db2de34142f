"""The examples, which README and docs/python.md show, print what they say; what the pages say of names is so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import whilst

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples/python").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path):
    text = example.read_text()
    shown = re.findall(r"^print\(.*\)  # (.*)$", text, re.M) or re.findall(
        r"^# (.*)$", text.partition("\n# prints:\n")[2], re.M
    )
    environment = {**os.environ, "WHILST_EXECUTOR": "host"}
    for library in ("torch", "cupy"):
        if f"import {library}\n" in text:
            pytest.importorskip(library)
            if whilst.machine()["executors"].get("graph") is not True:
                pytest.skip("no GPU")
            del environment["WHILST_EXECUTOR"]
    done = subprocess.run(
        [sys.executable, example], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60
    )
    assert done.stderr == ""
    assert shown and done.stdout.splitlines() == shown


def test_every_name_is_documented():
    page = (ROOT / "docs/python.md").read_text()
    for name in whilst.__all__:
        assert f"`{name}" in page or f"`whilst.{name}" in page, name
        value = getattr(whilst, name)
        if callable(value):
            assert value.__doc__ and len(value.__doc__) > 20, name
            for member in vars(value) if isinstance(value, type) else ():
                if not member.startswith("_") and callable(getattr(value, member)):
                    assert getattr(value, member).__doc__, f"{name}.{member}"


def test_every_name_is_in_the_reference():
    page = (ROOT / "docs/reference/python.rst").read_text()
    shown = re.findall(r"^\.\. (?:auto(?:function|class|exception)|data):: (\w+)$", page, re.M)
    assert sorted(shown) == sorted(name for name in whilst.__all__ if name != "__version__")


def test_every_method_has_a_function():
    methods = re.findall(r"^\| \[`([\w-]+)`\]\(methods/", (ROOT / "docs/linear.md").read_text(), re.M)
    assert len(methods) >= 18
    for method in methods:
        assert method.replace("-", "_") in whilst.__all__


def test_one_version():
    header = (ROOT / "include/whilst/version.hpp").read_text()
    assert f'version = "{whilst.__version__}"' in header
