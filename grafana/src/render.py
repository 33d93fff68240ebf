"""The dashboards as JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from grafana.src.fleet import fleet
from grafana.src.session import session
from grafana.src.sidecar import sidecar

FOLDER: Final = Path(__file__).parents[1] / "dashboards"


def rendered() -> Mapping[str, str]:
    """The text of each dashboard by the name of its file."""
    boards = {"fleet.json": fleet(), "session.json": session(), "sidecar.json": sidecar()}
    encoder = JSONEncoder(sort_keys=True, indent=2)
    return {
        name: json.dumps(json.loads(encoder.encode(made.build())), indent=2, ensure_ascii=False)
        + "\n"
        for name, made in boards.items()
    }
