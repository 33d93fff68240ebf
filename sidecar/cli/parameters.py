"""Types of parameters where what click takes is not what can be used."""

import math
from typing import Any, Final

import click
from click.types import StringParamType


class FloatRange(click.FloatRange):
    """A range that has no NaN in it: click looks only for numbers below and above, and NaN is
    neither."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number. Raises click.BadParameter."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{number} is not in the range {self._describe_range()}.", param, ctx)
        return number


class SendableText(StringParamType):
    """A text as it can be sent: what was typed need not be UTF-8, and in a Latin-1 terminal no
    accent is. Not for names of files, which are bytes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text, escaped."""
        return escaped(super().convert(value, param, ctx))


SENDABLE: Final = SendableText()


def escaped(text: str) -> str:
    """The text with what is not UTF-8 escaped, as in the name of a run that goes by its file's.

    An escape and no question mark, which could make it the id of another session.
    """
    return text.encode("utf-8", "backslashreplace").decode()
