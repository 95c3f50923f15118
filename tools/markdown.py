"""Tables in Markdown."""


def table(heads, rows, numbers_from=1):
    """A table in Markdown.

    Args:
        heads: list of str.
        rows: list of lists of str, each as long as `heads`.
        numbers_from: the column from which on all are aligned to the right; None for
            no column.
    """
    texts = len(heads) if numbers_from is None else numbers_from
    rule = ["---"] * texts + ["---:"] * (len(heads) - texts)
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *rows])
