"""How a request may name the server: in `Host`, and in a target that is a whole address."""

import pytest

from sidecar.adapters.local_callers import foreign
from sidecar.addresses import Address
from tests.wire.json_ports import Ports


@pytest.mark.parametrize(
    ("own", "host"), [("127.0.0.3", "127.0.0.3"), ("0:0:0:0:0:0:0:1", "[0:0:0:0:0:0:0:1]")]
)
def test_a_listener_is_known_by_its_own_address_too(own: str, host: str) -> None:
    address = Address(host=own, port=9465)

    assert foreign({"host": f"{host}:9465", "origin": f"http://{host}:9465"}, address) == ""
    assert foreign({"host": "LOCALHOST:9465"}, address) == ""


@pytest.mark.parametrize("host", ["127.0.0.2", "127.0.0.33", "127.0.0.3.evil.example", ""])
def test_and_by_no_other_which_the_refusal_says(host: str) -> None:
    why = foreign({"host": host}, Address(host="127.0.0.3", port=9465))

    assert why == "Host must be one of localhost, 127.0.0.1, [::1], 127.0.0.3"


@pytest.mark.parametrize("target", ["http://localhost:4301", "HTTP://127.0.0.1"])
async def test_a_target_may_be_a_whole_address_whose_host_counts(http: Ports, target: str) -> None:
    path = f"{target}/v1/sessions/s/turns"
    answer = await http.agent.ask("POST", path, b'{"turn": {}}', {"Host": "evil.example"})
    listed = await http.admin.get(f"{target}/v1/sessions?page_size=1")

    assert answer.json["decision"]["sequence"] == 1
    assert [one["session_id"] for one in listed.json["sessions"]] == ["s"]


async def test_a_target_at_a_foreign_host_is_refused(http: Ports) -> None:
    for target in ("http://evil.example", "http://localhost@evil.example", "http://"):
        assert (await http.admin.get(f"{target}/v1/sessions")).status == 403
    for target in ("http://localhost", "/statuszhttp://localhost"):
        assert (await http.admin.get(target)).status == 404
