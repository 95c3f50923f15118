"""Tables in Markdown."""


def table(heads, rows, numbers_from=1):
    """A table in Markdown.

    Args:
        heads: list of str.
        rows: list of lists, each as long as `heads`, of str, of float, which get one
            decimal, and of None, which is a dash.
        numbers_from: the column from which on all are aligned to the right; None for
            no column.
    """
    texts = len(heads) if numbers_from is None else numbers_from
    rule = ["---"] * texts + ["---:"] * (len(heads) - texts)
    rows = [map(_cell, row) for row in [heads, rule, *rows]]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(value):
    if value is None:
        return "–"
    return f"{value:.1f}" if isinstance(value, float) else str(value)
