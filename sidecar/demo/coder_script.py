"""What the reference agent's model says in the demo: a script in place of a mind.

The first run reads the same table for ever, and when it has to answer, answers too soon. The
reviewer sees why that is wrong, and the run that is told of it is right.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from sidecar.demo.measuring import CHARACTERS_PER_TOKEN
from sidecar.testing.model_script import Call, Say

QUESTION: Final = "What is the mean price of the teas in drinks.csv?"
TABLE_NAME: Final = "drinks.csv"
TABLE: Final = """\
name,kind,price
Assam,tea,3.10
Sencha,tea,4.40
Espresso,coffee,2.20
Oolong,tea,4.80
Mocha,coffee,3.50
"""
HASTY: Final = "3.6"
"""The mean of all five."""
WHY: Final = "That is the mean of all drinks; two of the five are coffees."

_LOOK: Final = "I look at the table first.\n```python\nprint(read_file('drinks.csv'))\n```"
_PICK: Final = """\
Only the teas count.
```python
rows = read_file('drinks.csv')[1:]
prices = [float(price) for _, kind, price in rows if kind == 'tea']
print(len(prices), 'teas', prices)
```"""
_SOLVE: Final = """\
Now their mean.
```python
final_answer(round(sum(prices) / len(prices), 2))
```"""


def reply(body: Mapping[str, Any], *, delay_s: float) -> Say:
    """The reply to a request of the Messages API, after so long."""
    said = _said(body)
    # No model is asked here: the tokens are what such texts come to.
    return Say(
        text=said.text,
        calls=said.calls,
        input_tokens=len(json.dumps(body)) // CHARACTERS_PER_TOKEN,
        output_tokens=len(said.text) // CHARACTERS_PER_TOKEN + 1,
        delay_s=delay_s,
    )


def _said(body: Mapping[str, Any]) -> Say:
    messages = body["messages"]
    if body.get("tools"):
        return _judged(str(messages))
    if "system" not in body:  # a forced commit has no prompt of the agent's
        return Say(text=f"FINAL_ANSWER: {HASTY}")
    if WHY not in str(messages[0]):
        return Say(text=_LOOK)
    return Say(text=_PICK if len(messages) == 1 else _SOLVE)


def _judged(asked: str) -> Say:
    hasty = f'"candidate_answer": "{HASTY}"' in asked
    given = {
        "reasoning": WHY if hasty else "It is the mean of the three teas.",
        "verdict": "FAIL" if hasty else "PASS",
        "suggested_revision": "",
    }
    return Say(calls=[Call(name="verdict", input=given)])
