"""The commands that ask a sidecar, and one that speaks TLS and wants a token and a certificate."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.config.keys import flag_name
from sidecar.testing import SidecarProcess

pytestmark = pytest.mark.process

TOKEN = "a-token-for-tests-only"
RUN = '{"open": {"session_id": "good"}}\n{"turn": {"sequence": 1, "output_lines": 3}}\n'
STEERED = RUN + '{"command": {"after_sequence": 1, "continue": {"reason": "go on"}}}\n'
NEW = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 2"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tokens, and certificates that `ca.pem` has signed: `server` (its key also `locked`), `named`
    (for another name), `client`; `other` signed itself."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make certificates")
    made = tmp_path_factory.mktemp("files")
    signed = f"{NEW} -CA ca.pem -CAkey ca.key -addext basicConstraints=CA:FALSE"
    for command, name in (
        (f"{NEW} -subj /CN=test-ca", "ca"),
        (f"{NEW} -subj /CN=other", "other"),
        (f"{signed} -subj /CN=a -addext subjectAltName=IP:127.0.0.1,DNS:localhost", "server"),
        (f"{signed} -subj /CN=b -addext subjectAltName=DNS:sidecar.example", "named"),
        (f"{signed} -subj /CN=c", "client"),
    ):
        written = f"{command} -keyout {name}.key -out {name}.pem"
        subprocess.run(written.split(), cwd=made, check=True, capture_output=True)
    locked = "openssl ec -in server.key -aes128 -passout pass:word -out locked.key"
    subprocess.run(locked.split(), cwd=made, check=True, capture_output=True)
    (made / "token").write_text(TOKEN)
    (made / "wrong-token").write_text(TOKEN[::-1])
    (made / "no.pem").write_text("no certificate")
    (made / "run.jsonl").write_text(RUN.replace("good", "other"))
    (made / "steered.jsonl").write_text(STEERED)
    return made


def secured(directory: Path, files: Path, name: str, *flags: str) -> SidecarProcess:
    return SidecarProcess(
        directory,
        flags=[
            "--admin-address=127.0.0.1:0",
            f"--tls-certificate-file={files}/{name}.pem",
            f"--tls-key-file={files}/{name}.key",
            f"--token-file={files}/token",
            *flags,
        ],
    )


PAIR = {"tls_certificate_file": "server.pem", "tls_key_file": "server.key"}


@pytest.mark.parametrize("command", ["check-config", "serve"])
@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"tls_certificate_file": "no.pem"}, "certificates in PEM"),
        ({"tls_certificate_file": "server.key"}, "certificates in PEM"),
        ({"tls_client_ca_file": "no.pem"}, "certificates in PEM"),
        ({"tls_key_file": "no.pem"}, "the private key, in PEM and without a passphrase, to"),
        ({"tls_key_file": "locked.key"}, "the private key, in PEM and without a passphrase, to"),
        ({"tls_key_file": "other.key"}, "the private key, in PEM and without a passphrase, to"),
    ],
)
def test_files_that_no_tls_can_be_spoken_with_end_both_with_2_and_one_line(
    files: Path, command: str, wrong: dict[str, str], expected: str
) -> None:
    flags = [f"{flag_name(key)}={files / name}" for key, name in {**PAIR, **wrong}.items()]
    ended = run(command, *flags)

    ((key, name),) = wrong.items()
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stderr.startswith(
        f"sidecar: {flag_name(key)}: {key} = {files / name} is not right: it must hold {expected}"
    )
    assert ("(key values mismatch)" in ended.stderr) is (name == "other.key")


def test_with_tls_a_listener_leaves_the_machine_without_a_token(files: Path) -> None:
    flags = [f"{flag_name(key)}={files / name}" for key, name in PAIR.items()]
    shown = run("check-config", "--agent-tcp-address=0.0.0.0:4300", *flags)
    assert (shown.returncode, shown.stderr) == (0, "")


@pytest.fixture(scope="module")
def live(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidecarProcess]:
    """A sidecar whose listeners over TCP speak TLS and want a token."""
    with secured(tmp_path_factory.mktemp("live"), files, "server") as sidecar:
        yield sidecar


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SIDECAR_")}
    return subprocess.run(
        [sys.executable, "-c", "from sidecar.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**kept, **environment},
    )


def test_under_the_sidecar_s_own_configuration_every_command_reaches_it(
    files: Path, live: SidecarProcess
) -> None:
    environment = {
        "SIDECAR_ADMIN_ADDRESS": live.addresses["admin_address"],
        "SIDECAR_AGENT_ADDRESS": live.addresses["agent_tcp_address"],
        "SIDECAR_TLS_CERTIFICATE_FILE": f"{files}/server.pem",
        # Only the sidecar itself may read its key.
        "SIDECAR_TLS_KEY_FILE": "/nowhere/server.key",
        "SIDECAR_TOKEN_FILE": f"{files}/token",
    }
    target, admin = live.addresses["agent_tcp_address"], live.addresses["admin_address"]
    health = run("health", **environment)
    replayed = run(
        "replay", "--format=json", f"--target={target}", f"--admin={admin}",
        f"{files}/steered.jsonl", **environment,
    )  # fmt: skip
    sessions = run("sessions", "--json", **environment)
    explained = run("explain", "good", **environment)
    closed = run("sessions", "close", "good", "--reason=enough", **environment)
    watched = run("sessions", "watch", "good", **environment)

    assert (health.returncode, health.stdout) == (0, "SERVING\n")
    assert replayed.returncode == 0, replayed.stderr
    assert "CAUSE_OPERATOR" in replayed.stdout
    assert json.loads(sessions.stdout)["session_id"] == "good"
    assert "good: policy default" in explained.stdout
    assert "go on)" in explained.stdout
    assert closed.returncode == watched.returncode == 0
    assert watched.stdout.splitlines()[-1].split()[3:] == closed.stdout.split()


def test_without_its_configuration_flags_say_how_it_is_spoken_to(
    files: Path, live: SidecarProcess
) -> None:
    flags = [f"--tls-server-ca-file={files}/ca.pem", f"--token-file={files}/token"]
    target = live.addresses["agent_tcp_address"].replace("127.0.0.1", "localhost")
    admin = live.addresses["admin_address"]

    assert run("health", f"--address={target}", *flags).returncode == 0
    assert run("sessions", f"--admin={admin}", *flags).returncode == 0
    assert run("replay", f"--target={target}", f"{files}/run.jsonl", *flags).returncode == 0


CA, OTHER_CA = "--tls-server-ca-file={files}/ca.pem", "--tls-server-ca-file={files}/other.pem"
GOOD, WRONG = "--token-file={files}/token", "--token-file={files}/wrong-token"


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        ([CA], 1, "wants a token: name the file that has it (--token-file or token_file)"),
        ([CA, WRONG], 1, "does not take the token that was sent"),
        ([GOOD], 3, "speaks TLS: name the authority"),
        ([GOOD, OTHER_CA], 3, "is not accepted (unable to get local issuer certificate)"),
        (["--tls-server-ca-file={files}/no.pem"], 2, "no.pem holds no certificate"),
        (["--tls-server-ca-file={files}/none"], 2, "tls_server_ca_file = {files}/none is not"),
        (["--token-file=/dev/null"], 2, "--token-file: token_file = /dev/null is not right"),
        (["--tls-client-key-file={files}/client.key"], 2, "without tls_client_certificate_file"),
        (
            [
                "--tls-client-certificate-file={files}/client.pem",
                "--tls-client-key-file={files}/client.key",
            ],
            2,
            "without tls_server_ca_file: give both",
        ),
    ],
)
def test_what_stands_between_is_said_on_one_line(
    files: Path, live: SidecarProcess, flags: list[str], code: int, said: str
) -> None:
    given = [flag.format(files=files) for flag in flags]
    admin = live.addresses["admin_address"]
    ended = run("sessions", f"--admin={admin}", *given)

    assert (ended.returncode, ended.stdout) == (code, "")
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert said.format(files=files) in ended.stderr


def test_replay_says_it_once_and_not_for_every_file(files: Path, live: SidecarProcess) -> None:
    target = live.addresses["agent_tcp_address"]
    names = [f"{files}/run.jsonl", f"{files}/steered.jsonl"]
    ended = run("replay", f"--target={target}", f"--tls-server-ca-file={files}/ca.pem", *names)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert "wants a token" in ended.stderr


def test_a_certificate_for_another_name_and_one_that_is_not_shown_are_said(
    files: Path, tmp_path: Path
) -> None:
    flags = [f"--tls-server-ca-file={files}/ca.pem", f"--token-file={files}/token"]
    shown = [
        f"--tls-client-certificate-file={files}/client.pem",
        f"--tls-client-key-file={files}/client.key",
    ]
    (tmp_path / "named").mkdir()
    with secured(tmp_path / "named", files, "named") as named:
        other_name = run("sessions", f"--admin={named.addresses['admin_address']}", *flags)
    with secured(tmp_path, files, "server", f"--tls-client-ca-file={files}/ca.pem") as mutual:
        admin = f"--admin={mutual.addresses['admin_address']}"
        not_shown = run("sessions", admin, *flags)
        both = run("sessions", admin, *flags, *shown)

    assert other_name.returncode == not_shown.returncode == 3
    assert "ask it under a name that is in the certificate" in other_name.stderr
    assert "wants a certificate that an authority it trusts has signed" in not_shown.stderr
    assert both.returncode == 0, both.stderr


def test_a_service_that_wants_a_certificate_is_held_to_the_protocol(
    files: Path, tmp_path: Path
) -> None:
    shown = [f"--certificate={files}/client.pem", f"--private-key={files}/client.key"]
    with secured(tmp_path, files, "server", f"--tls-client-ca-file={files}/ca.pem") as mutual:
        asked = [
            "conformance",
            f"--server={mutual.addresses['agent_tcp_address']}",
            f"--token={TOKEN}",
            f"--root-certificates={files}/ca.pem",
            "--only=open is answered with opened",
        ]
        not_shown = run(*asked)
        both = run(*asked, *shown)

    assert (not_shown.returncode, both.returncode) == (2, 0), not_shown.stderr + both.stdout
    assert both.stdout.splitlines()[-1].startswith("1 passed, 0 failed")


def test_a_sidecar_without_tls_is_said_to_speak_none(files: Path, tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as plain:
        target = plain.addresses["agent_tcp_address"]
        ended = run("health", f"--address={target}", f"--tls-server-ca-file={files}/ca.pem")
        wrong = run("sessions", f"--admin={target}")
        right = run("health", f"--address={target}")

    assert ended.returncode == 3
    assert "does not speak TLS" in ended.stderr
    assert wrong.returncode == 1
    assert "is not the admin_address of a sidecar" in wrong.stderr
    assert (right.returncode, right.stdout) == (0, "SERVING\n")


@pytest.mark.parametrize("target", ["127.0.0.1:9", "unix:{files}/none.sock"])
@pytest.mark.parametrize(
    "command",
    [
        ("health", "--address"),
        ("sessions", "--admin"),
        ("explain", "good", "--admin"),
        ("replay", "{files}/run.jsonl", "--target"),
    ],
)
def test_where_nothing_answers_every_command_says_so_and_ends_with_3(
    files: Path, target: str, command: tuple[str, ...]
) -> None:
    ended = run(*(word.format(files=files) for word in (*command, target)))

    assert (ended.returncode, ended.stdout) == (3, "")
    assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert "is `sidecar serve` running" in ended.stderr


def test_a_sidecar_that_hangs_is_told_from_none(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as hanging:
        hanging.process.send_signal(signal.SIGSTOP)
        over_socket = run("sessions", f"--admin={hanging.admin}")
        over_tcp = run("sessions", f"--admin={hanging.addresses['agent_tcp_address']}")

    for ended in (over_socket, over_tcp):
        assert ended.returncode == 3
        assert "takes connections but does not answer" in ended.stderr


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:0"])
def test_an_address_that_is_none_ends_with_2(address: str) -> None:
    ended = run("sessions", f"--admin={address}")

    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert "--admin" in ended.stderr


def test_serve_takes_no_flag_that_it_has_no_use_for() -> None:
    ended = run("serve", "--tls-server-ca-file=/ca.pem")

    assert ended.returncode == 2
    assert "No such option" in ended.stderr
