"""Docstrings as they are written here, Markdown under Google's headings, to reST.

Sphinx reads docstrings as reST, where a code span has two backticks, an indented block
is a quotation and `h*` begins an emphasis. `sphinx.ext.napoleon` runs after this and
turns the sections that are left (`Args:`, `Raises:`, …) into fields.
"""

import importlib
import itertools
import re

from sphinx.util import inspect
from sphinx.util.docstrings import prepare_docstring
from sphinx.util.docutils import SphinxDirective

_FENCE = re.compile(r" *```(\w*)$")
# A fence with its blank lines, or lines up to a blank one or a fence.
_BLOCK = re.compile(
    r"^ *```\w*\n(?:.*\n)*? *```$|(?:^(?! *```\w*$).*\S.*\n?)+", re.MULTILINE
)
_CODE_SPAN = re.compile(r"(`[^`]+`)")
_RETURNS = re.compile(r"^( *)(?:Returns|Yields):$", re.MULTILINE)
_SECTION = re.compile(r"(Args|Call arguments.*|Returns|Raises|Example):$")
_SPECIAL = re.compile(r"[\\*|`]|_(?!\w)")


def process(app, kind, name, thing, options, lines):
    """Rewrites `lines` in place; for Sphinx's `autodoc-process-docstring`."""
    lines[:] = convert(lines)


def sign(app, kind, name, thing, options, signature, returned):
    """Returns a class's arguments; for Sphinx's `autodoc-process-signature`.

    Sphinx would take those of Keras's `__new__`, which are `(*args, **kwargs)`.
    """
    if kind == "class" and signature == "(*args, **kwargs)":
        arguments = inspect.signature(thing.__init__, bound_method=True)
        signature = inspect.stringify_signature(
            arguments, show_return_annotation=False, unqualified_typehints=True
        )
    return signature, returned


class Summary(SphinxDirective):
    """The directive `summary`: class docstrings without their sections of arguments.

    .. summary:: zoo.models.Luong zoo.layers.AttentionCell
    """

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Returns the nodes."""
        lines = []
        for name in self.arguments[0].split():
            module, _, attribute = name.rpartition(".")
            thing = getattr(importlib.import_module(module), attribute)
            text = itertools.takewhile(
                lambda line: not _SECTION.match(line), prepare_docstring(thing.__doc__)
            )
            lines += [f"``{name}``", "", *convert(list(text)), ""]
        return self.parse_text_to_nodes("\n".join(lines))


def convert(lines):
    """Returns the lines of a docstring as lines of reST.

    Example:
        >>> convert(["The state `s`:", "", "    s* = f(s)"])
        ['The state ``s``:', '', '::', '', '    s* = f(s)', '']
    """
    output = []
    base = 0  # indentation of the last line of text
    in_code = False  # whether the block before was indented code
    for text in _BLOCK.findall("\n".join(lines)):
        block = text.splitlines()
        indent = _indent(block[0])
        margin = " " * indent
        if fence := _FENCE.match(block[0]):
            output += [f"{margin}.. code-block:: {fence[1] or 'text'}", ""]
            output += ["   " + line if line else "" for line in block[1:-1]]
            in_code = False
        elif output and indent > base:
            output += block if in_code else [" " * base + "::", "", *block]
            in_code = True
        else:
            for part in _parts(block):
                output += part if _is_doctest(part[0]) else _text(part)
                output.append("")
            base, in_code = _indent(block[-1]), False
            continue
        output.append("")
    return output


def _parts(block):
    """Yields a block's text, list items and examples, between which reST has blanks."""
    part = [block[0]]
    for line in block[1:]:
        starts_example = _is_doctest(line) and not _is_doctest(part[0])
        if starts_example or line.lstrip().startswith("- "):
            yield part
            part = []
        part.append(line)
    yield part


def _text(lines):
    """Doubles the backticks of code spans and escapes what reST would read as markup.

    `Returns:` becomes the field that napoleon would make of it, except that napoleon
    takes what stands before a colon for a type.
    """
    pieces = _CODE_SPAN.split("\n".join(lines))
    pieces[::2] = [_SPECIAL.sub(r"\\\g<0>", piece) for piece in pieces[::2]]
    pieces[1::2] = [f"`{piece}`\\ " for piece in pieces[1::2]]
    text = "".join(pieces)
    # A code span ends before a blank or punctuation by itself.
    text = re.sub(r"`\\ (?=[\s.,:;!?)\]}'\"/-]|$)", "`", text)
    return _RETURNS.sub(r"\1:returns:", text).split("\n")


def _is_doctest(line):
    return line.lstrip().startswith(">>>")


def _indent(line):
    return len(line) - len(line.lstrip())
