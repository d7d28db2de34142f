"""``python -m whilst ...``: the command line, the program that was built with the module."""

import os
import sys
from pathlib import Path


def program():
    """The program's path, or None: in the package, or what WHILST_PROGRAM names."""
    named = os.environ.get("WHILST_PROGRAM")
    found = Path(named) if named else Path(__file__).with_name("bin") / "whilst"
    return found if found.is_file() else None


def main():
    found = program()
    if found is None:
        print(
            "python -m whilst: the command line was not built with this module. Install Whilst with pip, or name the program in "
            "WHILST_PROGRAM",
            file=sys.stderr,
        )
        return 1
    os.execv(found, ["whilst", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
