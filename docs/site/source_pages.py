"""Links from a page to a file of the sources, or to a folder, lead to a page that shows it; those to results, to the file."""

import os
from pathlib import Path

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.addnodes import download_reference, pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform

DOWNLOADED = {".json", ".svg", ".png"}
NAMED = "source/"  # in front of a page's name


def wanted(env):
    if not hasattr(env, "whilst_source_pages"):
        env.whilst_source_pages = set()
    return env.whilst_source_pages


def reference_to(app, from_page, path, children):
    """path: of the file, from the root."""
    wanted(app.env).add(path)
    uri = app.builder.get_relative_uri(from_page, NAMED + path)
    node = nodes.reference("", "", internal=True, refuri=uri)
    node += children
    return node


class Files(SphinxPostTransform):
    """MyST makes downloads of links to files, and leaves those to folders unresolved."""

    default_priority = 5
    builders = ("html",)

    def run(self):
        for link in list(self.document.findall(download_reference)):
            path = os.path.normpath(os.path.join(os.path.dirname(self.env.docname), link["reftarget"]))
            if link["reftarget"].startswith("/"):
                path = link["reftarget"].lstrip("/")
            if Path(path).suffix not in DOWNLOADED:
                link.replace_self(reference_to(self.app, self.env.docname, path, link.children))
        for link in list(self.document.findall(pending_xref)):
            path = os.path.normpath(os.path.join(os.path.dirname(self.env.docname), link["reftarget"]))
            if link["reftype"] == "myst" and link.get("refdomain") != "doc" and (Path(self.app.srcdir) / path).is_dir():
                link.replace_self(reference_to(self.app, self.env.docname, path, link.children))


def shown(text, name):
    try:
        lexer = get_lexer_for_filename(name)
    except ClassNotFound:
        lexer = TextLexer()
    return highlight(text, lexer, HtmlFormatter(wrapcode=True))


def pages(app):
    for path in sorted(wanted(app.env)):
        full = Path(app.srcdir) / path
        body = f"<h1>{path}</h1>"
        if full.is_dir():
            files = sorted(one.relative_to(full).as_posix() for one in full.rglob("*") if one.is_file() and one.suffix != ".pyc")
            for name in files:
                content = (full / name).read_bytes()
                if b"\0" not in content:  # no picture
                    body += f"<h2>{name}</h2>" + shown(content.decode("utf-8"), name)
        else:
            body += shown(full.read_text(encoding="utf-8"), full.name)
        yield NAMED + path, {"title": path, "body": body, "toc": "", "display_toc": False}, "page.html"


def setup(app):
    app.add_post_transform(Files)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": False}
