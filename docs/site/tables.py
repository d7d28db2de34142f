"""For narrow windows: the least width of a column of a table by its texts, and where names and numbers break."""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform


def least_width(cells, most_of_name, most_of_text):
    """In characters: no name broken that is not very long, and no text of very many lines."""
    longest_name = max(len(word) for cell in cells for word in ["", *cell.split()])
    longest_text = max(len(cell) for cell in cells)
    return max(min(most_of_name, longest_name), min(most_of_text, longest_text, 10 + longest_text // 12))


class ColumnsByText(SphinxPostTransform):
    """Writes it as a class of the column's first cell, least-8 to least-32; whilst.css has their widths.

    The first column of a table of more than three is to stay in sight while others scroll.
    """

    default_priority = 500

    def run(self, **kwargs):
        for body in self.document.findall(nodes.tbody):
            columns = list(zip(*(row.children for row in body), strict=True))
            most = {2: (24, 24), 3: (24, 32)}.get(len(columns), (16, 28))
            for k, column in enumerate(columns):
                first_stays = k == 0 and len(columns) > 3
                steps = -(-least_width([cell.astext() for cell in column], *((20, 20) if first_stays else most)) // 4)
                if steps > 1:
                    column[0]["classes"].append(f"least-{4 * steps}")
                if first_stays:
                    body.parent.parent["classes"].append("first-stays")


class NumbersInOnePiece(SphinxPostTransform):
    """No line ends within 16 777 216."""

    default_priority = 500

    def run(self, **kwargs):
        for text in list(self.document.findall(nodes.Text)):
            number = r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)"
            joined = re.sub(number, lambda match: match[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
            if joined != text and not isinstance(text.parent, (nodes.literal, nodes.FixedTextElement)):
                text.parent.replace(text, nodes.Text(joined))


def break_names(app, page, template, context, doctree):
    """Long names may break between their parts: in tables, very long ones everywhere. Signatures after (, < and ::."""

    def of_text(match):
        after = r"(?:::|[_/,=(]|&lt;|\.(?=[A-Za-z]{5})|(?<=\w)-(?=[a-z]))(?=[\w\"-])"
        breaks = rf"{after}|(?<=[a-z])(?=[A-Z][a-z])"
        very_long = len(match[0]) > 30 or "<h" in match[0]
        return re.sub(breaks, rf"\g<0>{anywhere if very_long else '<wbr>'}", match[0])

    anywhere = '<wbr class="anywhere">'
    if "body" in context:
        body = re.sub(r'(?<=<span class="pre">)[^<]{13,}|<h[1-6]>[\w/]{13,}\.\w+(?=<)', of_text, context["body"])
        body = body.replace('<span class="sig-paren">(</span>', f'<span class="sig-paren">(</span>{anywhere}')
        context["body"] = re.sub('<span class="p"><span class="pre">(::|&lt;)</span></span>', rf"\g<0>{anywhere}", body)


def setup(app):
    app.add_post_transform(ColumnsByText)
    app.add_post_transform(NumbersInOnePiece)
    app.connect("html-page-context", break_names)
