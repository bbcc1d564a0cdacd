"""deploy/: the compose file, the dashboard and the alerts fit the service as it is."""

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import typer
import yaml
from prometheus_client.parser import text_string_to_metric_families
from serving import make, play, skip

from longrank import __version__, cli
from longrank.service.http.routes import ROUTES

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
BOARD = json.loads((DEPLOY / "grafana" / "longrank.json").read_text())
RULES = [
    rule
    for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
TRIALS = yaml.safe_load((DEPLOY / "alerts_test.yml").read_text())["tests"]
PROMETHEUS = {"instance", "job", "le"}  # labels that do not come from the service


def queries() -> dict[str, str]:
    """Every expression of the dashboard and of the alerts, by where it stands."""
    found = {f"alert {rule['alert']}": rule["expr"] for rule in RULES}
    for panel in BOARD["panels"]:
        for target in panel.get("targets", ()):
            found[f"panel {panel['title']} {target['refId']}"] = target["expr"]
    for variable in BOARD["templating"]["list"]:
        if variable["type"] == "query":
            found[f"variable {variable['name']}"] = variable["query"]["query"]
    for trial in TRIALS:
        for series in trial["input_series"]:
            found[f"trial {trial['name']} {series['series']}"] = series["series"]
    return found


@pytest.fixture
def exposed(http):
    """The service's metrics, after a decision and its outcome."""
    make(http.engine, "m")
    play(http.engine, count=1)
    return http.get("/metrics").text


def test_every_metric_and_label_in_a_query_is_one_of_the_service(exposed):
    build = rf'longrank_build_info{{python="3\.[^"]+",version="{re.escape(__version__)}"}} 1\.0'
    assert re.search(build, exposed)
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(exposed):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    for where, query in queries().items():
        used = re.findall(r"\b((?:longrank|process)_\w+)(?:{([^}]*)})?", query)
        assert used or re.search(r"\bup{", query), where
        for name, selectors in used:
            assert name in labels, f"{where}: {name} is no metric of the service"
            asked_for = set(re.findall(r"(\w+)\s*[=!]~?", selectors))
            assert asked_for <= labels[name] | PROMETHEUS, f"{where}: {name} has no such label"
        grouped = re.findall(r"by \(([^)]*)\)", query)
        known = set().union(*(labels[name] for name, _ in used)) | PROMETHEUS
        assert {one.strip() for group in grouped for one in group.split(",")} <= known, where


def test_every_call_in_a_query_is_an_endpoint():
    calls = re.findall(r'call=~?"([^"]+)"', "\n".join(queries().values()))
    assert calls
    assert set("|".join(calls).split("|")) <= {route.name for route in ROUTES}


def test_the_dashboard_is_complete_and_nothing_lies_over_anything():
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(ids) == len(set(ids))
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        rows = range(place["y"], place["y"] + place["h"])
        cells = set(itertools.product(columns, rows))
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
        assert panel["type"] == "row" or panel["targets"], panel["title"]
    defined = {variable["name"] for variable in BOARD["templating"]["list"]}
    used = set(re.findall(r"\$(?!__)\{?(\w+)", json.dumps(BOARD)))
    assert used == defined


def test_every_alert_is_tried_both_ways_and_documented():
    names = {rule["alert"] for rule in RULES}
    quiet, loud = ({one["alertname"] for one in trial["alert_rule_test"]} for trial in TRIALS)
    assert quiet == loud == names
    page = (ROOT / "docs" / "operations.md").read_text()
    assert set(re.findall(r"`(Longrank[A-Z]\w+)`", page)) == names


def test_the_compose_file_mounts_what_is_there_and_sets_what_the_service_reads():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    assert set(services) == {"longrank", "postgres", "prometheus", "grafana"}
    for name, service in services.items():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            there = (DEPLOY / source).exists() if source[0] == "." else source in compose["volumes"]
            assert there, f"{name}: {source}"
        assert re.search(r":v?\d", service.get("image", "built:1")), name
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), "published to everybody"
    command = typer.main.get_command(cli.app).commands["serve"]
    read = {option.envvar for option in command.params}
    read |= {"LONGRANK_ADMIN_KEY", "LONGRANK_METRICS_KEY"}
    assert set(services["longrank"]["environment"]) <= read
    image = (ROOT / "Dockerfile").read_text()
    assert set(re.findall(r"\b(LONGRANK_\w+)=", image)) <= read
    scraped = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"][0]
    assert scraped["static_configs"][0]["targets"] == ["longrank:8000"]
    secret = Path(scraped["authorization"]["credentials_file"])
    assert secret.name in services["prometheus"]["secrets"]
    assert secret.name in compose["secrets"]


@pytest.mark.promtool
def test_promtool_finds_nothing(exposed):
    program = shutil.which("promtool")
    if program is None:
        skip("promtool")
    for arguments, given in (
        ("check rules --lint-fatal alerts.yml", ""),
        ("test rules alerts_test.yml", ""),
        ("check config --syntax-only prometheus.yml", ""),
        ("check metrics", exposed),
    ):
        done = subprocess.run(
            [program, *arguments.split()], cwd=DEPLOY, input=given, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
