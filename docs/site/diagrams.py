"""Draws the flow charts that pages show as ```mermaid blocks with Graphviz: pictures in the page, without JavaScript."""

import re
import subprocess

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

NODE = re.compile(r'(\w+)(\["|\{")(.*?)("\]|"\})')
EDGE = re.compile(r"(\w+) (-->|-\.->)(?:\|(.*?)\|)? (\w+)")


def to_dot(chart):
    """The part of Mermaid's language that docs/images uses: boxes, decisions, arrows solid and dashed, with words or without."""
    head, *lines = chart.strip().splitlines()
    direction = {"graph BT": "BT", "flowchart TD": "TB"}.get(head)
    dot = [f'digraph {{ rankdir={direction}; bgcolor=transparent; nodesep=0.25; ranksep=0.4;',
           'node [fontname="sans-serif", fontsize=12, height=0.35, margin="0.12,0.06"]; edge [fontname="sans-serif", fontsize=11];']
    for line in lines:
        if node := NODE.fullmatch(line.strip()):
            shape = "shape=box" if node[2] == '["' else 'shape=box, style=rounded'
            dot.append(f'{node[1]} [{shape}, label="{node[3]}"];')
        elif edge := EDGE.fullmatch(line.strip()):
            style = "dashed" if edge[2] == "-.->" else "solid"
            dot.append(f'{edge[1]} -> {edge[4]} [style={style}, label="{" " + edge[3] if edge[3] else ""}"];')
        else:
            direction = None
        if direction is None:
            raise ExtensionError(f"docs/site/diagrams.py does not know this line of a chart: {line}")
    return "\n".join([*dot, "}"])


class Draw(SphinxTransform):
    default_priority = 300

    def apply(self):
        for block in list(self.document.findall(nodes.literal_block)):
            if block.get("language") != "mermaid":
                continue
            svg = subprocess.run(["dot", "-Tsvg"], input=to_dot(block.astext()), capture_output=True, text=True, check=True).stdout
            svg = re.sub(r'(stroke|fill)="black"', r'\1="currentColor"', svg[svg.index("<svg"):])
            svg = svg.replace("<text ", '<text fill="currentColor" ')
            block.replace_self(nodes.raw("", f'<div class="diagram">{svg}</div>', format="html"))


def setup(app):
    app.add_transform(Draw)
    return {"parallel_read_safe": True}
