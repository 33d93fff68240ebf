"""One that reads and never writes, until it is told to begin."""

from types import MappingProxyType
from typing import Final

from sidecar.client import Kind
from sidecar.demo.calls import read, run, search, write
from sidecar.demo.mind import Call, Mind, Move, Script, Trouble

FILES: Final = MappingProxyType(
    {
        "task.md": "Write total.py with total(stock): what the stock is worth, in cents.\n",
        "stock.py": 'STOCK = {"bolt": 400, "nut": 380, "washer": 1200}\n',
        "prices.py": 'CENTS = {"bolt": 12, "nut": 9, "washer": 2}\n',
        "orders.py": "from prices import CENTS\n\n\ndef cost(name, count):\n"
        "    return CENTS[name] * count\n",
        "test_total.py": "import unittest\n\nfrom stock import STOCK\nfrom total import total\n\n\n"
        "class Total(unittest.TestCase):\n    def test_total(self):\n"
        "        self.assertEqual(total(STOCK), 10620)\n",
        "history.md": "2023: prices moved to a file of their own.\n2024: orders came.\n",
    }
)

MISSING: Final = (
    "def total",
    "class Stock",
    "inventory",
    "worth(",
    "currency",
    "discount",
    "warehouse",
    "rebate",
    "sum_of",
    "euro",
    "margin",
    "supplier",
)
"""What it looks for between two reads. None of it is there."""

SOLUTION: Final = """from orders import cost


def total(stock):
    return sum(cost(name, count) for name, count in stock.items())
"""


def _looks() -> tuple[Call, ...]:
    """All files once, and then again and again, with a search between any two."""
    again = [read(name) for name in FILES] * 2
    searches = map(search, MISSING)
    return (
        *(read(name) for name in FILES),
        *(look for pair in zip(again, searches, strict=True) for look in pair),
    )


LOOKS: Final = _looks()


def _script(_speed: float) -> Script:
    for look in LOOKS:
        seen = yield Move(
            text="Before I write anything I want to understand it.",
            calls=(look,),
            approach="read everything first",
        )
        if seen.directive.kind is not Kind.PROCEED:
            yield Move(
                text="I know enough for a minimal solution.",
                calls=(write("total.py", SOLUTION),),
                approach="a minimal solution",
            )
            yield Move(text="Does it do?", calls=(run("python -m unittest"),))
            yield Move(text="Done.", final_answer="total.py is written and its test passes.")
            return
    yield Move(text="I am not sure yet.", final_answer="The stock needs a function for its worth.")


READER: Final = Mind(
    name="reader",
    aim="reads and never writes",
    files=FILES,
    script=_script,
    trouble=Trouble(signal="stall", turns_unwatched=len(LOOKS) + 1),
)
