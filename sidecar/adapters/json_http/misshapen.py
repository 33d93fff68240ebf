"""What is wrong with JSON, by the path of its field."""

from sidecar.refusal import Reason, Refusal


class Misshapen(Refusal):
    """JSON that is not the message that was asked for."""

    def __init__(self, path: str, expected: str) -> None:
        """`expected` completes "it must be ..."; `path` is empty where it is the whole."""
        where = path or "the body"
        super().__init__(Reason.REQUEST_INVALID, f"{where} must be {expected}", field=path)
        self._expected = expected

    def within(self, place: str) -> "Misshapen":
        """The same, of a part at that place of something larger: a field, or `[2]` of a list."""
        between = "." if self.field and not self.field.startswith("[") else ""
        return Misshapen(f"{place}{between}{self.field}", self._expected)

    def renamed(self, own: str, given: str) -> "Misshapen":
        """The same, where a field was given by another name than its own."""
        rest = self.field.removeprefix(own)
        is_in_it = self.field.startswith(own) and rest[:1] in ("", "[", ".")
        return Misshapen(f"{given}{rest}", self._expected) if is_in_it else self
