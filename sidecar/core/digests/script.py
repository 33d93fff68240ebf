"""Whether code that an interpreter is given writes files, as far as its calls say so."""

import re

_WRITING_CALL = re.compile(
    r"(?:e(?<!\we)dit_file|c(?<!\wc)reate_file|a(?<!\wa)ppend_file|i(?<!\wi)nsert_content"
    r"|w(?<!\ww)rite_(?:text|bytes)|m(?<!\wm)akedirs|w(?<!\ww)riteFile)\w*\("
)
"""In the form that Python searches by first letters."""
_OPENING = re.compile(r"open(?<!\wopen)\(")
_TO_WRITE = re.compile(r"[^)\n]{0,200}, ?(?:mode ?= ?)?['\"][wax]")
"""What follows the opening of a file, up to the next one, if it is for writing."""


def writes(code: str) -> bool:
    """Whether the code, of Python or JavaScript, calls what writes a file. Never raises."""
    if ".write(" in code or _WRITING_CALL.search(code):
        return True
    return any(map(_TO_WRITE.match, _OPENING.split(code)[1:]))
