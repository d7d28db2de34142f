"""Sphinx's settings: the site is README.md and the pages below docs/ as they are, and the references. scripts/site builds it."""

import os
import re
import sys
from pathlib import Path

from sphinx.util import logging

root = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent)]

project = "Whilst"
author = copyright = "The Whilst authors"  # noqa: A001  # Sphinx's name
release = version = re.search(r'version = "([0-9.]+)"', (root / "include/whilst/version.hpp").read_text())[1]

# The source folder is the project's, so that links between pages are the ones that work in the repository, too.
root_doc = "README"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/results/README.md", "packaging/README.md",
                    "docs/**.md", "docs/reference/*.rst"]
exclude_patterns = ["docs/site", "build*", "out", ".*", "dist"]

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon",
              "contents", "cpp_reference", "diagrams", "source_pages", "tables"]  # the latter five are beside this file
toc_object_entries = False  # thousands of entries: half of the build

myst_heading_anchors = 6  # as GitHub names them
cpp_index_common_prefix = ["whilst::"]  # else the index has all under W
highlight_language = "none"  # a block without a language is output

html_theme = "furo"
html_title = f"Whilst {release}"
html_static_path = ["whilst.css"]
html_css_files = ["whilst.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

# The Python reference: from the module in the build folder or, where there is none, with a stand-in for its compiled part.
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
built = Path(root, os.environ.get("WHILST_BUILD_DIR", "build"), "python")  # Sphinx is in docs/site while it reads this
if list(built.glob("whilst/_core*.so")):
    sys.path[:0] = [str(built)]
else:
    import python_stand_in

    python_stand_in.install()
    sys.path[:0] = [str(root / "python")]


def half_docstring(app, what, name, it, options, lines):
    """Napoleon takes what stands before a colon for the type of a property."""
    if what == "property" and lines and ": " in re.sub("``.*?``", "", lines[0]):
        logging.getLogger(__name__).warning("%s: say it without a colon, which would end its type: %s", name, lines[0])


def setup(app):
    app.connect("autodoc-process-docstring", half_docstring, priority=1)  # before Napoleon
