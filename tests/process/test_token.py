"""Over TCP no call of any service is served without the token, where one is configured."""

from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from sidecar.testing import SidecarProcess
from sidecar.v1 import answer_service_pb2, convergence_service_pb2, session_service_pb2

pytestmark = pytest.mark.process

TOKEN = "a-token-for-tests-only"
RIGHT = f"Bearer {TOKEN}"
WITHIN_S = 20.0
A_MOMENT_S = 0.5
"""For a call that would go on for as long as its caller listens."""

CALLS = {
    f"/{service.full_name}/{method.name}": (key, method.client_streaming, method.server_streaming)
    for file, key in (
        (convergence_service_pb2, "agent_tcp_address"),
        (answer_service_pb2, "agent_tcp_address"),
        (session_service_pb2, "admin_address"),
    )
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
ENDLESS = "/sidecar.v1.SessionService/WatchSessions"


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarProcess]:
    directory = tmp_path_factory.mktemp("sidecar")
    (directory / "token").write_text(TOKEN)
    flags = ["--admin-address=127.0.0.1:0", f"--token-file={directory}/token"]
    with SidecarProcess(directory, flags=flags) as running:
        yield running


def refusal_of(
    sidecar: SidecarProcess, path: str, authorization: str
) -> tuple[grpc.StatusCode, str]:
    """The status of a call with nothing in it, and its words."""
    key, sends_many, hears_many = CALLS[path]
    metadata = (("authorization", authorization),) if authorization else ()
    goes_on = path == ENDLESS and authorization == RIGHT
    said: dict[str, Any] = {"timeout": A_MOMENT_S if goes_on else WITHIN_S, "metadata": metadata}
    channel: Any
    with grpc.insecure_channel(sidecar.addresses[key]) as channel:
        try:
            if sends_many:
                list(channel.stream_stream(path)(iter(()), **said))
            elif hears_many:
                list(channel.unary_stream(path)(b"", **said))
            else:
                channel.unary_unary(path)(b"", **said)
        except grpc.RpcError as error:
            return error.code(), error.details() or ""
    return grpc.StatusCode.OK, ""


def code_of(sidecar: SidecarProcess, path: str, authorization: str) -> grpc.StatusCode:
    """The status alone."""
    return refusal_of(sidecar, path, authorization)[0]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("", "send the token as `authorization: Bearer <token>`"),
        ("Bearer", "send the token as `authorization: Bearer <token>`"),
        (f"Basic {TOKEN}", "send the token as `authorization: Bearer <token>`"),
        (TOKEN, "send the token as `authorization: Bearer <token>`"),
        ("Bearer another", "the token is not the one in token_file"),
    ],
)
def test_who_is_refused_is_told_what_to_send(sidecar: SidecarProcess, given: str, why: str) -> None:
    assert refusal_of(sidecar, "/sidecar.v1.SessionService/ListSessions", given) == (
        grpc.StatusCode.UNAUTHENTICATED,
        why,
    )


@pytest.mark.parametrize("path", CALLS)
def test_no_call_is_served_without_the_token(sidecar: SidecarProcess, path: str) -> None:
    wrong = ("", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer")
    codes = {given: code_of(sidecar, path, given) for given in wrong}

    assert set(codes.values()) == {grpc.StatusCode.UNAUTHENTICATED}, codes
    assert code_of(sidecar, path, RIGHT) not in (
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.UNIMPLEMENTED,
    )
