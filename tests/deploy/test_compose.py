"""The compose file: valid by the specification's schema, and its parts fit together."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml

from tests.deploy.effective import check
from tests.deploy.manifests import RENDERED, ROOT

pytestmark = pytest.mark.deploy

COMPOSE: Final = ROOT / "deploy" / "compose" / "compose.yaml"
FILE: Final = yaml.safe_load(COMPOSE.read_text())
SERVICES: Final = FILE["services"]
SCHEMA: Final = json.loads((RENDERED / "compose-spec.json").read_text())
IMAGE_CONFIG: Final = ROOT / "deploy" / "image" / "config.yaml"
PROMETHEUS: Final = ROOT / "grafana" / "prometheus" / "prometheus.yaml"
PROVISIONING: Final = ROOT / "deploy" / "compose" / "grafana"
DOCKERFILE: Final = ROOT / "deploy" / "image" / "Dockerfile"


def test_it_is_valid_by_the_specifications_schema() -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(FILE)


def test_the_schema_would_name_a_wrong_key() -> None:
    wrong = {"services": {"a": {"image": "b", "volums": []}}}
    with pytest.raises(jsonschema.ValidationError, match="volums"):
        jsonschema.Draft202012Validator(SCHEMA).validate(wrong)


def test_all_that_was_asked_for_is_there() -> None:
    assert set(SERVICES) == {
        *("loopback", "sidecar", "agents", "prometheus", "alertmanager", "grafana", "tempo"),
        "collector",
    }


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_has_a_version(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9./-]+:v?[0-9]+(\.[0-9]+)+", SERVICES[name]["image"])


def _mounts() -> Iterator[tuple[str, str]]:
    for name, service in SERVICES.items():
        for volume in service.get("volumes", ()):
            yield name, volume


@pytest.mark.parametrize(("name", "volume"), list(_mounts()))
def test_everything_that_is_mounted_is_there(name: str, volume: str) -> None:
    source = volume.split(":")[0]
    if source.startswith("."):
        assert (COMPOSE.parent / source).exists()
        assert volume.endswith(":ro")
    else:
        assert source in FILE["volumes"]


def _file(service: str, path: str) -> Path:
    """The file of the repository that a service has at a path."""
    for volume in SERVICES[service]["volumes"]:
        source, target = str(volume).split(":")[:2]
        if path == target or path.startswith(target + "/"):
            return COMPOSE.parent / source / path.removeprefix(target).lstrip("/")
    raise AssertionError(f"{service} has nothing at {path}")


@pytest.mark.parametrize(
    ("service", "flag"),
    [
        ("prometheus", "--config.file="),
        ("alertmanager", "--config.file="),
        ("tempo", "-config.file="),
        ("collector", "--config="),
    ],
)
def test_every_program_is_given_a_file_that_it_has(service: str, flag: str) -> None:
    (path,) = [each.removeprefix(flag) for each in SERVICES[service]["command"] if flag in each]
    assert _file(service, path).is_file()


def test_only_the_loopback_publishes_ports_and_only_to_this_machine() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["loopback"]
    published = [each.split(":") for each in SERVICES["loopback"]["ports"]]
    assert {host for host, _, _ in published} == {"127.0.0.1"}
    assert {int(inside) for _, _, inside in published} == {3000, 9090, 9093, 9464}


def test_the_sidecar_listens_where_the_others_look() -> None:
    serve = _command(DOCKERFILE)
    effective = check(serve, {"PATH": "/usr/bin:/bin"}, config=IMAGE_CONFIG)
    assert effective.code == 0, effective.output
    addresses = effective.addresses
    assert addresses["telemetry_address"] == "0.0.0.0:9464"
    assert _targets() == ["127.0.0.1:9464"]
    infinity = _source("sidecar")
    assert infinity["url"] == f"http://{addresses['admin_http_address']}"
    assert infinity["jsonData"]["allowedHosts"] == [infinity["url"]]
    (told,) = [each for each in SERVICES["agents"]["command"] if each.startswith("unix:")]
    assert told == f"unix:{addresses['agent_address']}"


def _command(dockerfile: Path) -> list[str]:
    """What the image runs, its configuration as a flag."""
    (command,) = re.findall(r"^CMD (\[.*\])$", dockerfile.read_text(), re.MULTILINE)
    return [*json.loads(command), "--config="]


def _targets() -> list[str]:
    (job,) = yaml.safe_load(PROMETHEUS.read_text())["scrape_configs"]
    return [each for group in job["static_configs"] for each in group["targets"]]


def _source(uid: str) -> Any:
    sources = yaml.safe_load((PROVISIONING / "datasources" / "sources.yaml").read_text())
    return next(each for each in sources["datasources"] if each["uid"] == uid)


def test_spans_find_their_way_from_the_sidecar_to_the_store() -> None:
    collector = yaml.safe_load(_file("collector", "/etc/collector.yaml").read_text())
    listens = collector["receivers"]["otlp/sidecar"]["protocols"]["grpc"]["endpoint"]
    sends_to = SERVICES["sidecar"]["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"]
    assert sends_to == "http://" + listens.partition(":-")[2].rstrip("}")
    tempo = yaml.safe_load(_file("tempo", "/etc/tempo.yaml").read_text())
    takes = tempo["distributor"]["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"]
    assert SERVICES["collector"]["environment"]["OTLP_BACKEND"] == takes
    assert _source("tempo")["url"].endswith(f":{tempo['server']['http_listen_port']}")


def test_exemplars_lead_to_the_store_by_the_label_that_the_sidecar_gives_them() -> None:
    (way,) = _source("prometheus")["jsonData"]["exemplarTraceIdDestinations"]
    assert way == {"name": "trace_id", "datasourceUid": "tempo"}
    assert "--enable-feature=exemplar-storage" in SERVICES["prometheus"]["command"]


def test_who_opens_grafana_may_follow_the_links_to_explore() -> None:
    """Grafana keeps Explore from Viewers; the Session dashboard and exemplars lead there."""
    boards = _file("grafana", "/etc/agent-sidecar/dashboards").glob("*.json")
    assert any("/explore?" in path.read_text() for path in boards)
    environment = SERVICES["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "true"
    assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Editor"


def test_agents_have_no_network_and_are_not_the_sidecars_user() -> None:
    agents = SERVICES["agents"]
    assert agents["network_mode"] == "none"
    user, group = agents["user"].split(":")
    options = FILE["volumes"]["sockets"]["driver_opts"]["o"].split(",")
    assert f"uid={user}" not in options
    assert {f"gid={group}", "mode=0750"} <= set(options)


@pytest.mark.parametrize("name", ["sidecar", "agents"])
def test_what_is_ours_may_do_nothing_that_it_does_not_need(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_agents_wait_for_nobody() -> None:
    assert not any("depends_on" in service for service in SERVICES.values())


def test_the_collectors_image_is_of_the_version_that_is_built_in_tests() -> None:
    module = (ROOT / "tests" / "deploy" / "collector" / "go.mod").read_text()
    (version,) = re.findall(
        r"go.opentelemetry.io/collector/otelcol v([0-9.]+)$", module, re.MULTILINE
    )
    assert SERVICES["collector"]["image"].endswith(f":{version}")


def test_dashboards_are_found_where_they_are_mounted() -> None:
    provided = yaml.safe_load((PROVISIONING / "dashboards" / "dashboards.yaml").read_text())
    (provider,) = provided["providers"]
    assert sorted(
        path.name for path in _file("grafana", provider["options"]["path"]).glob("*.json")
    ) == [
        "fleet.json",
        "session.json",
        "sidecar.json",
    ]
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert _file("grafana", home).is_file()
