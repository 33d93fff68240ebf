"""The one OTEL_* variable that the SDK reads while it is imported.

Where it is no number the import itself fails, and with it the start of a sidecar that was asked to
export nothing. Read later, with the other limits of a span, it is reported as they are.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

READ_BY_THE_IMPORT: Final = "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"
"""For a constant of `opentelemetry.sdk.trace` that is kept for old code alone."""


@contextmanager
def variable_hidden() -> Iterator[None]:
    """Hide it for as long as the block lasts, in which the SDK is imported."""
    given = os.environ.pop(READ_BY_THE_IMPORT, None)
    try:
        yield
    finally:
        if given is not None:
            os.environ[READ_BY_THE_IMPORT] = given
