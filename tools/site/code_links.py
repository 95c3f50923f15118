"""Code spans that name something the site has a page of become links to it.

`zoo.layers.LSTMN`, `LSTMN`, `zoo/layers/lstmn_stack.py` and the preset `lstmn` lead to
the API reference, the source and the card, in documents and docstrings alike.
"""

from collections import Counter

from docutils import nodes

from tools.site.pages import CARDS


def link_code(app, doctree, page):
    """Links the code spans of a page; for Sphinx's `doctree-resolved`."""
    targets = _targets(app.env)
    taken = {
        span
        for kind in (nodes.reference, nodes.title)
        for parent in doctree.findall(kind)
        for span in parent.findall(nodes.literal)
    }
    for span in list(doctree.findall(nodes.literal)):
        target = targets.get(span.astext())
        if target is None or span in taken:
            continue
        document, anchor = target
        if (document, anchor) == (page, ""):
            continue
        uri = app.builder.get_relative_uri(page, document)
        if anchor:
            uri = f"#{anchor}" if document == page else f"{uri}#{anchor}"
        link = nodes.reference("", "", refuri=uri, internal=True)
        span.replace_self(link)
        link += span


def _targets(env):
    """Returns the page and the anchor, if any, of each text that can be linked."""
    targets = {}
    for document in env.found_docs:
        if document.startswith(f"{CARDS}/"):
            targets[document.removeprefix(f"{CARDS}/")] = (document, "")
    # viewcode's own list of the modules whose source it shows.
    for module, shown in getattr(env, "_viewcode_modules", {}).items():
        if shown:
            path = module.replace(".", "/")
            targets[f"{path}.py"] = (f"_modules/{path}", "")
    objects = {
        name: entry
        for name, entry in env.get_domain("py").objects.items()
        if not entry.aliased  # by the file that it is defined in
    }
    names = Counter(name.rpartition(".")[2] for name in objects)
    for name, entry in objects.items():
        last = name.rpartition(".")[2]
        targets[name] = (entry.docname, entry.node_id)
        if last[0].isupper() and names[last] == 1:
            targets[last] = targets[name]
    return targets
