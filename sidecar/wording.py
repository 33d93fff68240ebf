"""What is said of a number of things."""


def counted(number: int, one: str, many: str = "") -> str:
    """`1 turn`, `1,234 turns`; `many` is given where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
