"""The order of the pages: contents.md is appended to the start page, which is README.md."""

from pathlib import Path

CONTENTS = Path(__file__).parent / "contents.md"


def append(app, name, text):
    if name == app.config.root_doc:
        text[0] += "\n" + CONTENTS.read_text(encoding="utf-8")


def start_page(app, problem):
    """README.html is also index.html: both lie in one folder, so links hold."""
    if problem is None and app.builder.name == "html":
        page = Path(app.outdir, app.config.root_doc + ".html").read_text(encoding="utf-8")
        Path(app.outdir, "index.html").write_text(page, encoding="utf-8")


def setup(app):
    app.connect("source-read", append)
    app.connect("env-before-read-docs", lambda app, env, names: names.append(app.config.root_doc))  # contents.md may be new
    app.connect("build-finished", start_page)
    return {"parallel_read_safe": True}
