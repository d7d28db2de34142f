#!/usr/bin/env python3
"""usage: check_links.py SITE

Checks that every link, picture, script and style sheet of the pages below the folder SITE leads to a file there and, after a #,
to an anchor of it; that pages have one title and leave out no level of headings; that pictures have a text. Asks no server: with --external it lists the addresses outside, and the pages that name them.
"""

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.headings, self.pictures_without_text = [], set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[key] for key in ("id", "name") if values.get(key))
        if tag in HEADINGS:
            self.headings.append(HEADINGS.index(tag) + 1)
        if tag == "img" and not values.get("alt"):
            self.pictures_without_text.append(values.get("src"))
        self.links += [values[key] for key in ("href", "src") if values.get(key)]


def check(site):
    """What is wrong, a line each; the addresses outside and who names them; how many links there are."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    wrong, outside, followed = [], {}, 0
    for path, page in pages.items():
        name = path.relative_to(site)
        if page.headings and page.headings.count(1) != 1 and name.name != "search.html":  # the theme's
            wrong.append(f"{name}: {page.headings.count(1)} titles")
        wrong += [f"{name}: a heading of level {below} follows one of level {above}"
                  for above, below in zip(page.headings, page.headings[1:]) if below > above + 1]
        wrong += [f"{name}: {picture}: a picture without a text" for picture in page.pictures_without_text]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.scheme != "data":
                    outside.setdefault(link, set()).add(path.relative_to(site).as_posix())
                continue
            followed += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file() or site not in target.parents:
                wrong.append(f"{path.relative_to(site)}: {link}: there is no such file")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                wrong.append(f"{path.relative_to(site)}: {link}: there is no such anchor")
    return wrong, outside, followed


def main():
    about = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about.add_argument("site", type=Path)
    about.add_argument("--external", action="store_true", help="list addresses outside")
    options = about.parse_args()
    wrong, outside, followed = check(options.site.resolve())
    if not followed:
        wrong.append(f"{options.site}: no page with a link")
    for line in wrong:
        print(line, file=sys.stderr)
    if options.external:
        for address, pages in sorted(outside.items()):
            print(address, *sorted(pages))
    print(f"{followed} links checked, {len(wrong)} things wrong; {len(outside)} addresses outside")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
