#!/usr/bin/env python3
"""Tests docs/site/check_links.py on small sites. Argument: the script."""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath(sys.argv.pop(1))


class check_links(unittest.TestCase):
    def check(self, pages, *arguments):
        """pages: text by path. Returns the exit status and what was printed."""
        with tempfile.TemporaryDirectory() as site:
            for path, text in pages.items():
                os.makedirs(os.path.dirname(os.path.join(site, path)), exist_ok=True)
                with open(os.path.join(site, path), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, SCRIPT, site, *arguments], capture_output=True, text=True, timeout=60, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_all_lead_somewhere(self):
        status, said = self.check({"a.html": '<a href="b/c%20d.html#e">x</a> <a href="#f">x</a> <p id="f"> <img src="p.svg" alt="p">',
                                   "b/c d.html": '<h1 id="e">x</h1> <a href="../a.html">x</a>', "p.svg": ""})
        self.assertEqual((status, said), (0, "4 links checked, 0 things wrong; 0 addresses outside\n"))

    def test_a_page_that_is_not_there(self):
        status, said = self.check({"a.html": '<a href="b.html">x</a>'})
        self.assertEqual(status, 1)
        self.assertIn("a.html: b.html: there is no such file", said)

    def test_an_anchor_that_is_not_there(self):
        for link, other in (("#e", ""), ("b.html#e", '<p id="f">')):
            status, said = self.check({"a.html": f'<a href="{link}">x</a>', "b.html": other})
            self.assertEqual(status, 1)
            self.assertIn(f"a.html: {link}: there is no such anchor", said)

    def test_a_way_out_of_the_site(self):
        status, said = self.check({"a.html": f'<a href="../{os.path.basename(tempfile.gettempdir())}">x</a> <img src="/etc/passwd" alt="p">'})
        self.assertEqual(status, 1)
        self.assertIn("2 things wrong", said)

    def test_addresses_outside_are_listed(self):
        status, said = self.check({"a.html": '<a href="https://example.org/x#y">x</a> <a href="a.html">x</a>'}, "--external")
        self.assertEqual((status, said), (0, "https://example.org/x#y a.html\n1 links checked, 0 things wrong; 1 addresses outside\n"))

    def test_headings(self):
        for text, wrong in (("<h1>x</h1><h2>x</h2><h3>x</h3><h2>x</h2>", ""),
                            ("<h1>x</h1><h3>x</h3>", "a.html: a heading of level 3 follows one of level 1"),
                            ("<h1>x</h1><h1>x</h1>", "a.html: 2 titles"), ("<h2>x</h2>", "a.html: 0 titles")):
            status, said = self.check({"a.html": text + '<a href="a.html">x</a>'})
            self.assertEqual(status, 1 if wrong else 0)
            self.assertIn(wrong, said)

    def test_a_picture_without_a_text(self):
        status, said = self.check({"a.html": '<img src="p.svg">', "p.svg": ""})
        self.assertEqual(status, 1)
        self.assertIn("a.html: p.svg: a picture without a text", said)

    def test_a_folder_without_pages(self):
        self.assertEqual(self.check({})[0], 1)


if __name__ == "__main__":
    unittest.main()
