"""Boxes, arrows and formulas as SVG, in one style, light and dark.

Texts are written as the papers' symbols are read: `h_{t-1}`, `W^Q`, `x_2`.
"""

import math
import re
from html import escape
from typing import NamedTuple

# Fill and outline, light and dark, of each kind of node.
KINDS = {
    "input": ("#eceff1", "#78909c", "#37474f", "#90a4ae"),
    "state": ("#dbe9f6", "#2f6fab", "#17395c", "#7fb2e0"),
    "memory": ("#dff0df", "#3b8a4a", "#1d4426", "#83c98f"),
    "attention": ("#fde8cf", "#c2701c", "#57330d", "#f0ab62"),
    "output": ("#eadff5", "#7647a8", "#3a2357", "#b795dc"),
    "gate": ("#fbe0e3", "#b8404f", "#57212a", "#e68a96"),
}
SIZE = 15
DRAWINGS = {}  # name -> its `Drawing`
_MARK = re.compile(r"([_^])(?:\{([^}]*)\}|(.))")


class Node(NamedTuple):
    """A node by its centre and size."""

    x: float
    y: float
    width: float
    height: float
    round: bool = False

    def edge(self, x, y):
        """Where the line from the centre to (x, y) leaves the node."""
        dx, dy = x - self.x, y - self.y
        if self.round:
            scale = 2 * math.hypot(dx, dy) / self.width or 1
        else:
            scale = max(2 * abs(dx) / self.width, 2 * abs(dy) / self.height, 1e-9)
        return self.x + dx / scale, self.y + dy / scale


class Drawing:
    """An SVG picture.

    Args:
        title: what it shows, for readers who don't see it.
        width, height: in pixels.
    """

    def __init__(self, title, width, height):
        self.title, self.width, self.height = title, width, height
        self._parts, self._lines = [], []

    def box(self, x, y, text, kind="state", width=54, height=34):
        """A box around (x, y); returns its `Node`."""
        node = Node(x, y, width, height)
        left, top = x - width / 2, y - height / 2
        self._parts.append(
            f'<rect class="{kind}" x="{left:g}" y="{top:g}" width="{width:g}" '
            f'height="{height:g}" rx="7"/>'
        )
        for number, line in enumerate(lines := text.split("\n")):
            self.text(x, y + (number - (len(lines) - 1) / 2) * SIZE * 1.15, line)
        return node

    def circle(self, x, y, text, kind="attention", size=26):
        """A circle around (x, y), for an operation; returns its `Node`."""
        self._parts.append(
            f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{size / 2}"/>'
        )
        self.text(x, y, text)
        return Node(x, y, size, size, True)

    def row(self, xs, y, texts, kind="state", **size):
        """Boxes side by side; returns their `Node`s."""
        return [
            self.box(x, y, text, kind, **size)
            for x, text in zip(xs, texts, strict=True)
        ]

    def text(self, x, y, text, *, size=SIZE, anchor="middle", kind="symbol"):
        """A formula (kind "symbol", in italics) or words ("words")."""
        self._parts.append(
            f'<text class="{kind}" x="{x:g}" y="{y:g}" font-size="{size}" '
            f'text-anchor="{anchor}" dominant-baseline="central">{_formula(text, size)}'
            "</text>"
        )

    def words(self, x, y, text, *, anchor="middle"):
        """Words, a line for each of the text's."""
        style = {"size": 13, "anchor": anchor, "kind": "words"}
        for number, line in enumerate(text.split("\n")):
            self.text(x, y + number * 13 * 1.3, line, **style)

    def arrow(self, *points, kind="flow", head=True):
        """An arrow through nodes and (x, y) points; its ends are cut at nodes' edges.

        Kinds: "flow", "attend" (drawn as attention) and "faint" (dashed).
        """
        spots = [(p.x, p.y) if isinstance(p, Node) else p for p in points]
        if isinstance(points[0], Node):
            spots[0] = points[0].edge(*spots[1])
        if isinstance(points[-1], Node):
            spots[-1] = points[-1].edge(*spots[-2])
        path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
        end = f' marker-end="url(#{kind})"' if head else ""
        self._lines.append(f'<path class="{kind}" d="{path}"{end}/>')

    def arrows(self, nodes, others, kind="flow"):
        """An arrow from each node to another."""
        for node, other in zip(nodes, others, strict=True):
            self.arrow(node, other, kind=kind)

    def chain(self, *nodes, kind="flow"):
        """Arrows from each node to the next."""
        self.arrows(nodes[:-1], nodes[1:], kind)

    def frame(self, x, y, width, height, label="", anchor="start"):
        """A dashed frame from its upper left corner, with a label above."""
        self._lines.append(
            f'<rect class="frame" x="{x:g}" y="{y:g}" width="{width:g}" '
            f'height="{height:g}" rx="10"/>'
        )
        if label:
            place = x + 8 if anchor == "start" else x + width - 8
            self.words(place, y - 9, label, anchor=anchor)

    def svg(self):
        """The picture, text."""
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
                f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
                f'height="{self.height}">',
                f"<title>{escape(self.title)}</title>",
                f"<style>{_STYLE}</style>",
                f"<defs>{_HEADS}</defs>",
                *self._lines,
                *self._parts,
                "</svg>\n",
            ]
        )


def drawing(title, width, height):
    """Keeps what a function draws on a `Drawing` in `DRAWINGS`, by the function's name;
    see `Drawing` for the arguments."""

    def draw(function):
        picture = DRAWINGS[function.__name__] = Drawing(title, width, height)
        function(picture)
        return function

    return draw


def _formula(text, size):
    """Subscripts and superscripts as spans that return to the line."""
    spans, place = [], 0
    for match in _MARK.finditer(text):
        spans.append(escape(text[place : match.start()]))
        shift = 0.28 * size if match[1] == "_" else -0.38 * size
        inside, place = escape(match[2] or match[3]), match.end()
        back = f'<tspan dy="{-shift:.1f}">\u200b</tspan>'
        font = f'font-size="{0.7 * size:.1f}"'
        spans.append(f'<tspan dy="{shift:.1f}" {font}>{inside}</tspan>{back}')
    return "".join([*spans, escape(text[place:])])


def _style():
    light, dark = [], []
    for kind, (fill, line, dark_fill, dark_line) in KINDS.items():
        light.append(f".{kind}{{fill:{fill};stroke:{line}}}")
        dark.append(f".{kind}{{fill:{dark_fill};stroke:{dark_line}}}")
    lines = (("flow", "#455a64", "#b0bec5"), ("attend", "#c2701c", "#f0ab62"))
    for kind, colour, other in (*lines, ("faint", "#90a4ae", "#78909c")):
        light.append(f".{kind}{{stroke:{colour}}}.{kind}-head{{fill:{colour}}}")
        dark.append(f".{kind}{{stroke:{other}}}.{kind}-head{{fill:{other}}}")
    return (
        "rect,circle{stroke-width:1.5}path{fill:none;stroke-width:1.6}"
        ".frame{fill:none;stroke:#90a4ae;stroke-dasharray:5 4}"
        ".faint{stroke-dasharray:4 4}text{stroke:none;fill:#1b2328}"
        ".symbol{font-family:'STIX Two Math',Georgia,serif;font-style:italic}"
        ".words{font-family:system-ui,sans-serif;fill:#455a64}"
        + "".join(light)
        + "@media(prefers-color-scheme:dark){text{fill:#eceff1}.words{fill:#b0bec5}"
        + "".join(dark)
        + "}"
    )


_STYLE = _style()
_HEADS = "".join(
    f'<marker id="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    f'markerHeight="7" orient="auto"><path class="{kind}-head" d="M0 0L8 4L0 8z" '
    'style="stroke:none"/></marker>'
    for kind in ("flow", "attend", "faint")
)
