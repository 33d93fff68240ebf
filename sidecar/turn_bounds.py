"""What one turn may hold, as a configuration has it."""

from sidecar.adapters.convert import TurnBounds
from sidecar.config.keys import Config


def turn_bounds(config: Config) -> TurnBounds:
    """The same for a sidecar and for all that reads recorded runs as one does."""
    return TurnBounds(tool_calls_max=config.tool_calls_max, text_bytes_max=config.text_bytes_max)
