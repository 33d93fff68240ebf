"""An explanation as Markdown."""

from sidecar.explaining.explanation import COLUMNS, Explanation


def markdown(explanation: Explanation) -> str:
    """The explanation as Markdown."""
    lines = [f"# {_in_one(explanation.title)}", ""]
    lines.append(f"| {' | '.join(COLUMNS)} |")
    lines.append("|---" * len(COLUMNS) + "|")
    for row in explanation.rows:
        cells = (_in_one(cell).replace("|", "\\|") for cell in row.cells)
        lines.append(f"| {' | '.join(cells)} |")
    if explanation.unrecorded:
        lines += ["", explanation.unrecorded]
    for title, items in (
        ("Approaches Tried", explanation.approaches),
        ("Rotation Applied", explanation.rotations),
        ("Directives", explanation.directives),
    ):
        if items:
            lines += ["", f"## {title}", ""]
            lines += [f"{number}. {_in_one(item)}" for number, item in enumerate(items, 1)]
    for panel in explanation.panels:
        lines += ["", f"## {panel.title}", ""]
        lines += [f"- **{name}**: {_in_one(text)}" for name, text in panel.facts]
    return "\n".join(lines) + "\n"


def _in_one(text: str) -> str:
    """The text in one line: an agent chooses names, and none is to make a line of its own."""
    return text.replace("\n", "\\n")
