"""An HTTP session that takes for a collector's answer only what is one.

OpenTelemetry's exporter takes every status below 400 for success, and follows no redirects: behind
a proxy that sends callers to https, or to a page for signing in, spans would be gone and counted as
exported.
"""

import requests


def collector_session() -> requests.Session:
    """A session whose requests fail where the answer is a redirect or a page."""
    session = requests.Session()
    session.hooks["response"].append(_require_collector)
    return session


def _require_collector(response: requests.Response, **_: object) -> None:
    wrong = ""
    if 300 <= response.status_code < 400:
        to = response.headers.get("Location", "nowhere")
        wrong = f"redirected to {to} ({response.status_code})"
    elif response.ok and response.headers.get("Content-Type", "").startswith("text/html"):
        wrong = "answered with a page: this is no collector"
    if wrong:
        response.close()
        raise requests.RequestException(wrong)
