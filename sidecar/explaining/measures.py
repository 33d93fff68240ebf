"""What a reading measured, in a few words and in its own unit."""

from sidecar.core.words import UNKNOWN, Measure, Unit
from sidecar.signals import SIGNALS_BY_NAME
from sidecar.v1 import run_pb2 as pb


def count(number: float) -> str:
    """1,234,567; ten digits are more than any budget has."""
    return f"{number:,.10g}"


def percent(share: float) -> str:
    """0.96 as 96 %."""
    return f"{100 * share:.4g} %"


def in_few_words(reading: pb.Reading) -> str:
    """Why a state was taken on; the signal's name where it is of a later version."""
    measure = _measure(reading)
    return measure.words.format(
        value=_in_unit(reading.value, measure.unit),
        threshold=_in_unit(reading.threshold, measure.unit),
    )


def against_limit(reading: pb.Reading) -> str:
    """The value and the threshold, each in its unit."""
    unit = _measure(reading).unit
    return f"{_in_unit(reading.value, unit)} / {_in_unit(reading.threshold, unit)}"


def diagnosis(reading: pb.Reading) -> str:
    """One sentence on a run that the signal has stopped."""
    signal = SIGNALS_BY_NAME.get(reading.signal)
    return (signal.words if signal else UNKNOWN).diagnosis


def _measure(reading: pb.Reading) -> Measure:
    signal = SIGNALS_BY_NAME.get(reading.signal)
    for measure in signal.words.measures if signal else ():
        if measure.within in reading.summary:
            return measure
    return Measure(words=reading.signal.replace("{", "{{").replace("}", "}}"))


def _in_unit(number: float, unit: Unit) -> str:
    match unit:
        case Unit.COUNT:
            return count(number)
        case Unit.SHARE:
            return percent(number)
        case Unit.SECONDS:
            return f"{count(number)} s"
        case Unit.US_DOLLARS:
            return f"{number:,.8g} US dollars"
        case Unit.POINTS:
            return f"{number:.4g} points"
