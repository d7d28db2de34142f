"""The C++ and C references: Doxygen reads the headers that docs/reference/*.rst name, Breathe shows what it found.

A page says `.. header:: whilst/linear/linear_solver.hpp`; a header of include/whilst whose contents no page shows is a warning.
"""

import re
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

log = logging.getLogger(__name__)
SECTIONS = "briefdescription detaileddescription define enum typedef innerclass public-type public-static-attrib public-attrib " \
           "public-func public-static-func func var"


def headers_shown(root):
    """By the pages, in their order."""
    pages = sorted((root / "docs/reference").glob("*.rst"))
    return [name for page in pages for name in re.findall(r"^\.\. header:: (\S+)", page.read_text(encoding="utf-8"), re.M)]


def headers_public(root):
    """What the headers directly in include/whilst hold or include, as {that one: it}."""
    found = {}
    for door in sorted((root / "include/whilst").glob("*.hpp")):
        for name in re.findall(r'^#include "(whilst/.*?)"', door.read_text(encoding="utf-8"), re.M):
            if "/" in name.removeprefix("whilst/") and "// IWYU" not in name:
                found.setdefault(name, f"whilst/{door.name}")
    return found


def run_doxygen(root, out, version):
    out.mkdir(parents=True, exist_ok=True)
    settings = (root / "docs/site/Doxyfile").read_text(encoding="utf-8")
    inputs = " ".join(f'"{root}/include/{name}"' for name in headers_shown(root))
    settings += f'PROJECT_NUMBER = {version}\nINPUT = {inputs}\nOUTPUT_DIRECTORY = "{out}"\n' \
                f'STRIP_FROM_PATH = "{root}/include"\nSTRIP_FROM_INC_PATH = "{root}/include"\n'
    done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ExtensionError(f"Doxygen: {done.stderr}")


def is_left_out(member):
    """What is no declaration of its own, or not for callers."""
    definition = member.findtext("definition") or ""
    words = definition.split()
    texts = "".join("".join(member.find(part).itertext()).strip() for part in ("briefdescription", "detaileddescription"))
    return ((words[:1] == ["template"] and member.find("templateparamlist") is None)  # an explicit instantiation
            or (words[:2] in (["typedef", "enum"], ["typedef", "struct"]) and words[-2:-1] == words[-1:])  # C's enum X X
            or (member.get("kind") == "define" and not texts) or "detail::" in definition)


def tidy_code(listing):
    """Breathe drops the blanks that a line of code begins with."""
    for line in listing.iter("codeline"):
        for blank in line.iter("sp"):
            blank.text = " "
        words = "".join(line.itertext())
        for part in list(line):
            line.remove(part)
        xml.SubElement(line, "highlight", {"class": "normal"}).text = words


def tidy_compound(compound):
    for listing in compound.iter("programlisting"):
        tidy_code(listing)
    for one in compound.iter():
        if one.tag in {"para", "computeroutput", "ref", "bold", "emphasis"}:  # Breathe makes a paragraph of each line
            one.text, one.tail = (text.replace("\n", " ") if text and text.strip() else text for text in (one.text, one.tail))
    names = {one.text for one in compound.findall("innerclass")}
    for one in compound.findall("innernamespace"):
        compound.remove(one)
    for one in compound.findall("innerclass"):
        if one.get("prot") == "private" or one.text.rpartition("::")[0] in names or "detail::" in one.text:
            compound.remove(one)
    for section in compound.findall("sectiondef"):
        for member in section.findall("memberdef"):
            if is_left_out(member):
                section.remove(member)
            initial = member.find("initializer")
            if initial is not None and "requires" in "".join(initial.itertext()):  # Breathe cannot parse it
                member.remove(initial)
        if not section.findall("memberdef"):
            compound.remove(section)


def tidy(folder):
    """Makes of Doxygen's XML what Breathe shows well: files by their paths, with what they declare in namespaces.

    Returns the names of all that they declare.
    """
    trees = {file: xml.parse(file) for file in sorted(folder.glob("*.xml")) if file.name not in ("index.xml", "Doxyfile.xml")}
    compounds = [tree.getroot().find("compounddef") for tree in trees.values()]
    files = {}
    for compound in compounds:
        tidy_compound(compound)
        if compound.get("kind") == "file":
            name = compound.find("compoundname")
            name.text = compound.find("location").get("file")
            files[name.text] = compound
    for compound in compounds:
        if compound.get("kind") != "namespace":
            continue
        classes = {one.text for one in compound.findall("innerclass")}
        for section in compound.findall("sectiondef"):
            moved = {}
            for member in section.findall("memberdef"):
                if f"{compound.findtext('compoundname')}::{member.findtext('name')}" in classes:  # a deduction guide
                    continue
                path = member.find("location").get("file")
                member.find("name").text = f"{compound.findtext('compoundname')}::{member.findtext('name')}"
                if path not in moved:
                    moved[path] = xml.SubElement(files[path], "sectiondef", kind=section.get("kind"))
                moved[path].append(member)
            compound.remove(section)
    declared = set()
    for compound in files.values():
        declared |= {one.text for one in compound.findall("innerclass")} | {one.text for one in compound.iterfind(".//memberdef/name")}
    for file, tree in trees.items():
        tree.write(file, encoding="utf-8", xml_declaration=True)
    paths = {compound.get("id"): path for path, compound in files.items()}
    index = xml.parse(folder / "index.xml")
    for compound in index.getroot():
        if compound.get("refid") in paths:
            compound.find("name").text = paths[compound.get("refid")]
    index.write(folder / "index.xml", encoding="utf-8", xml_declaration=True)
    return declared


class Tidy(SphinxTransform):
    """Highlights code, and leaves members out of the list of what is on a page, where Breathe puts them all.

    Warns of what a comment did not mean: numbered lists, where a line begins with "64. Rows", and ends such as "this,.".
    """

    default_priority = 300

    def apply(self):
        if not self.env.docname.startswith(("docs/reference/cpp-", "docs/reference/c")):
            return
        for block in self.document.findall(nodes.literal_block):
            block.rawsource, block["language"], block["force"] = block.astext(), "cpp", True
        for section in self.document.findall(nodes.section):
            named = set()
            for one in section.findall(addnodes.desc_signature):
                name = one.get("_toc_name", "").removeprefix("whilst::")
                inner, above = False, one.parent.parent
                while above is not section and not inner:
                    inner, above = isinstance(above, addnodes.desc_content), above.parent
                one["_toc_name"] = "" if inner or name in named else name
                named.add(name)
            if len(section.children) == 2 and section.parent is not self.document:
                log.warning("%s: nothing to show", section[0].astext(), location=section)
        for one in self.document.findall(nodes.enumerated_list):
            log.warning("a numbered list, probably from a number at the start of a line: %s", one.astext(), location=one)
        for one in self.document.findall(nodes.paragraph):
            if re.search(r"[,;:]\.$|^\.", one.astext().strip()):
                log.warning("half a sentence: %s", one.astext(), location=one)


class PagesNamed(SphinxPostTransform):
    """Headers and docstrings name pages, as docs/linear.md: links."""

    default_priority = 4

    def run(self):
        if not self.env.docname.startswith("docs/reference/"):
            return
        for text in list(self.document.findall(nodes.Text)):
            parts = re.split(r"\b(docs/[\w/-]+)\.md\b", text)
            if len(parts) == 1 or isinstance(text.parent, nodes.literal_block):
                continue
            made = [nodes.Text(parts[0])]
            for page, after in zip(parts[1::2], parts[2::2]):
                if page not in self.env.all_docs:
                    log.warning("%s.md is named, and there is no such page", page, location=text.parent)
                    continue
                title = self.env.titles[page].astext()
                uri = self.app.builder.get_relative_uri(self.env.docname, page)
                made += [nodes.reference("", title, internal=True, refuri=uri), nodes.Text(after)]
            text.parent.replace(text, made)


class Header(SphinxDirective):
    """.. header:: PATH: a section of its own with all that the header declares."""

    required_arguments = 1

    def run(self):
        path = self.arguments[0]
        include = self.env.app.whilst_doors.get(path, path)
        shown = self.env.temp_data.setdefault("whilst_includes", set())
        title = Path(path if include in shown else include).name  # one that holds several of the page's headers
        shown.add(include)
        text = f"{title}\n{'-' * len(title)}\n\n``#include <{include}>``\n\n"
        text += f".. doxygenfile:: {path}\n   :sections: {SECTIONS}\n"
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def start(app):
    root = Path(app.srcdir)
    app.whilst_doors = headers_public(root)
    shown = headers_shown(root)
    for name, door in app.whilst_doors.items():
        if name not in shown:
            log.warning("%s, which %s includes, is on no page of docs/reference", name, door)
    out = Path(app.doctreedir).parent / "doxygen"
    run_doxygen(root, out, app.config.release)
    app.whilst_declared = tidy(out / "xml")
    app.config.breathe_projects = {"whilst": str(out / "xml")}


def check_shown(app, env):
    """Breathe leaves out in silence what it does not know."""
    shown = {one[0] for language in ("c", "cpp") for one in env.get_domain(language).get_objects()}
    for name in sorted(name for name in app.whilst_declared - shown if "<" not in name):  # but for specializations
        log.warning("%s is declared, and no page of docs/reference shows it", name)


def setup(app):
    app.add_directive("header", Header)
    app.add_transform(Tidy)
    app.add_post_transform(PagesNamed)
    app.connect("builder-inited", start, priority=1)
    app.connect("env-check-consistency", check_shown)
    app.config.breathe_default_project = "whilst"
    app.config.breathe_show_include = False
    app.config.breathe_domain_by_extension = {"h": "c"}
    return {"parallel_read_safe": False}
