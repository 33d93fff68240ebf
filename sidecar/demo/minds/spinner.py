"""One that spins: edit after edit, and the same error each time."""

from types import MappingProxyType
from typing import Final

from sidecar.client import Kind
from sidecar.demo.calls import edit, read, run, write
from sidecar.demo.mind import Mind, Move, Script, Trouble

ORDERS: Final = """day,amount
2024-03-05,12
05.03.2024,7
"March 7, 2024",31
"""

FORMS: Final = tuple(
    f"{first}{mark}{second}{mark}{third}"
    for mark in ("/", ".", "-", " ", "")
    for first, second, third in (
        ("%d", "%m", "%Y"),
        ("%m", "%d", "%Y"),
        ("%Y", "%d", "%m"),
        ("%d", "%m", "%y"),
        ("%m", "%d", "%y"),
        ("%y", "%m", "%d"),
    )
)
"""Ways to write a day, one of which it tries after the other. None fits all of the file."""

FIRST: Final = "%Y/%m/%d"

PROGRAM: Final = f'''import csv
import datetime

FORM = "{FIRST}"

with open("orders.csv", newline="") as file:
    days = [datetime.datetime.strptime(row["day"], FORM) for row in csv.DictReader(file)]
print(f"{{len(days)}} orders, the first on {{min(days):%Y-%m-%d}}")
'''

ANOTHER: Final = """import csv
import datetime

FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%B %d, %Y")


def day_of(text):
    for form in FORMS:
        try:
            return datetime.datetime.strptime(text, form)
        except ValueError:
            continue
    raise ValueError(f"no form fits {text}")


with open("orders.csv", newline="") as file:
    days = [day_of(row["day"]) for row in csv.DictReader(file)]
print(f"{len(days)} orders, the first on {min(days):%Y-%m-%d}")
"""


def _script(_speed: float) -> Script:
    yield Move(text="I read the program.", calls=(read("orders.py"),))
    form = FIRST
    for other in FORMS:
        seen = yield Move(
            text=f"The form of the day may be {other}.",
            calls=(edit("orders.py", form, other), run("python orders.py")),
            approach="guess the form of the day",
        )
        form = other
        if seen.directive.kind is not Kind.PROCEED:
            yield Move(
                text="No single form fits. I read the file itself.",
                calls=(read("orders.csv"),),
                approach="read the file, write the function anew",
            )
            seen = yield Move(
                text="It has three forms, so the function tries each.",
                calls=(write("orders.py", ANOTHER), run("python orders.py")),
                approach="read the file, write the function anew",
            )
            yield Move(text="It runs.", final_answer=seen.results[1].text)
            return
    yield Move(text="I give up.", final_answer="I found no form that fits.")


SPINNER: Final = Mind(
    name="spinner",
    aim="gets one error from every edit",
    files=MappingProxyType({"orders.csv": ORDERS, "orders.py": PROGRAM}),
    script=_script,
    trouble=Trouble(signal="spin", turns_unwatched=len(FORMS) + 2),
)
