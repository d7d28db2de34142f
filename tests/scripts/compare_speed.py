#!/usr/bin/env python3
"""Tests scripts/compare-speed on fake programs, which write the JSON that a case gives them. Argument: the script."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath(sys.argv.pop(1))
FAKE = """#!{python}
import sys
if {status} not in (0, 2): print("it broke", file=sys.stderr)
else: open(sys.argv[sys.argv.index("--json") + 1], "w").write({text!r})
sys.exit({status})
"""


def on_gpu(seconds, executor="graph"):
    return {"solves": [{"executor": executor, "solve_seconds": seconds}]}


class compare_speed(unittest.TestCase):
    def compare(self, old, new, *arguments, new_status=0):
        """old, new: by program, what it writes. Returns the exit status, what was printed, and the JSON."""
        with tempfile.TemporaryDirectory() as scratch:
            for name, programs, status in (("old", old, 0), ("new", new, new_status)):
                os.mkdir(os.path.join(scratch, name))
                for program, figures in programs.items():
                    path = os.path.join(scratch, name, program)
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(FAKE.format(python=sys.executable, status=status, text=json.dumps(figures)))
                    os.chmod(path, 0o755)
            result = os.path.join(scratch, "result.json")
            done = subprocess.run(
                [SCRIPT, os.path.join(scratch, "old"), os.path.join(scratch, "new"), "--json", result,
                 "--only", ",".join(old), *arguments], capture_output=True, text=True, timeout=60, check=False)
            with open(result, encoding="utf-8") as file:
                return done.returncode, done.stdout, json.load(file)

    def test_nothing_slower(self):
        status, said, told = self.compare({"elastic": on_gpu(1), "heat_steps": on_gpu(1)},
                                          {"elastic": on_gpu(1.02), "heat_steps": on_gpu(0.5)})
        self.assertEqual(status, 0, said)
        self.assertIn("0 of 2 figures slower by more than 3 %", said)
        self.assertEqual([row["slower"] for row in told["figures"]], [False, False])

    def test_one_slower(self):
        status, said, told = self.compare({"elastic": on_gpu(1), "heat_steps": on_gpu(1)},
                                          {"elastic": on_gpu(1), "heat_steps": on_gpu(1.04)})
        self.assertEqual(status, 1, said)
        self.assertIn("1 of 2 figures slower", said)
        self.assertEqual([row["suite"] for row in told["figures"] if row["slower"]], ["heat_steps"])

    def test_slower_within_what_is_allowed(self):
        status, said, _ = self.compare({"elastic": on_gpu(1)}, {"elastic": on_gpu(1.04)}, "--within", "5")
        self.assertEqual(status, 0, said)

    def test_a_lower_rate_is_slower(self):
        def rate(number):
            return {"ways": [{"executor": "graph", "fits_per_second_launch": number}]}
        self.assertEqual(self.compare({"elastic": rate(100)}, {"elastic": rate(90)})[0], 1)
        self.assertEqual(self.compare({"elastic": rate(90)}, {"elastic": rate(100)})[0], 0)

    def test_what_the_processor_decides_is_held_to_nothing(self):
        both = {"solves": on_gpu(1)["solves"] + on_gpu(1, "stream")["solves"]}
        later = {"solves": on_gpu(1)["solves"] + on_gpu(2, "stream")["solves"]}
        status, said, _ = self.compare({"elastic": both}, {"elastic": later})
        self.assertEqual(status, 0, said)
        self.assertIn("(host)", said)

    def test_a_program_that_fails(self):
        status, said, _ = self.compare({"elastic": on_gpu(1)}, {"elastic": on_gpu(1)}, new_status=3)
        self.assertEqual(status, 2, said)
        self.assertIn("ended with status 3: it broke", said)

    def test_one_failure_outweighs_what_is_slower(self):
        status, said, _ = self.compare({"elastic": on_gpu(1), "heat_steps": on_gpu(1)}, {"elastic": on_gpu(2)})
        self.assertEqual(status, 2, said)

    def test_what_does_not_converge_counts(self):
        status, said, _ = self.compare({"elastic": on_gpu(1)}, {"elastic": on_gpu(1)}, new_status=2)
        self.assertEqual(status, 0, said)

    def test_no_figure_of_a_gpu(self):
        status, said, _ = self.compare({"elastic": on_gpu(1, "host")}, {"elastic": on_gpu(1, "host")})
        self.assertEqual(status, 2, said)
        self.assertIn("no figure of a GPU", said)


if __name__ == "__main__":
    unittest.main()
