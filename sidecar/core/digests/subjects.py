"""What of an error a policy compares. Apart from the masks, which take a tenth of a second to be
compiled: a command that reads a configuration does without them."""

from enum import Enum


class Subjects(Enum):
    """Whether the name that a missing import or an undefined name is about is masked."""

    MASKED = "masked"
    """As every quoted name: the founding presets."""
    KEPT = "kept"
    """Five different missing imports are progress, not one error five times."""
