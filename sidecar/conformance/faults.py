"""What ends a case, or the whole run."""


class TableError(ValueError):
    """A table that cannot be read or played: a fault of its author, not of who is under test."""


class Departure(Exception):  # noqa: N818 (what was under test departed from the table)
    """What came is not what the table says. The text says both."""


class StatusLost(Exception):  # noqa: N818 (it is nobody's error)
    """How the stream ended is not known, through no fault of the service's."""
