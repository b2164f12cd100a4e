"""The files under deploy/ as far as they can be checked without starting anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from silmari.engine.elastic_address import parse

DEPLOY = Path(__file__).parents[1] / "deploy"
TEXT = (DEPLOY / "compose.yaml").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SERVERS = {"milvus", "elasticsearch", "postgres"}
# Services that end by themselves.
ONCE = {name for name, service in SERVICES.items() if service["restart"] == "no"}
VARIABLE = re.compile(r"(?<!\$)\$\{(\w+)(?::([?-])([^}]*))?\}")
SECRETS = {match[1] for match in VARIABLE.finditer(TEXT) if match[2] == "?"}


def example() -> dict[str, str]:
    lines = (DEPLOY / ".env.example").read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("name", ["compose.yaml", "compose.nori.yaml"])
def test_it_follows_the_compose_specification(name: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_specification_is_really_asked(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(TEXT.replace("healthcheck:", "helthcheck:", 1), "utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(wrong)]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == 1


def test_every_server_has_a_profile_with_all_it_needs() -> None:
    assert {profile for service in SERVICES.values() for profile in service["profiles"]} == SERVERS
    for name, service in SERVICES.items():
        for needed, how in service.get("depends_on", {}).items():
            assert set(service["profiles"]) <= set(SERVICES[needed]["profiles"]), (name, needed)
            expected = "service_completed_successfully" if needed in ONCE else "service_healthy"
            assert how == {"condition": expected}, (name, needed)


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_pinned_and_limits_set(name: str) -> None:
    service = SERVICES[name]
    tag = service["image"].rpartition(":")[2]
    assert re.search(r"\d+\.\d+|RELEASE\.\d{4}", tag) and "$" not in tag
    assert service["mem_limit"] and service["logging"]["options"]["max-size"]
    assert not service.get("privileged") and "container_name" not in service
    if name in ONCE:
        return
    check = service["healthcheck"]
    assert check["test"][0] in ("CMD", "CMD-SHELL") and len(check["test"]) > 1
    assert (check["test"][0] == "CMD") or len(check["test"]) == 2
    assert all(re.fullmatch(r"\d+[sm]", check[field]) for field in ("interval", "timeout"))
    assert check["retries"] >= 3
    assert service["restart"] == "unless-stopped"


def test_ports_are_on_loopback_only() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published.keys() == SERVERS
    for name, (port,) in published.items():
        assert re.fullmatch(rf"127\.0\.0\.1:\$\{{{name.upper()}_PORT:-\d+\}}:\d+", port)
    assert all(service.get("network_mode") in (None, "none") for service in SERVICES.values())


def test_what_asks_for_no_password_is_reached_by_milvus_alone() -> None:
    assert SERVICES["etcd"]["networks"] == ["milvus-inside"] and COMPOSE["networks"]["milvus-inside"]["internal"]
    inside = {name for name, service in SERVICES.items() if "milvus-inside" in service.get("networks", ())}
    assert inside == {"etcd", "minio", "milvus"}


def test_volumes_and_networks_are_declared_and_used() -> None:
    mounted = [mount for service in SERVICES.values() for mount in service["volumes"]]
    assert {mount.split(":")[0] for mount in mounted} == set(COMPOSE["volumes"])
    joined = {network for service in SERVICES.values() for network in service.get("networks", ())}
    assert joined == set(COMPOSE["networks"])


def test_every_variable_is_in_the_example_and_secrets_have_no_default() -> None:
    given = example()
    assert {match[1] for match in VARIABLE.finditer(TEXT)} == given.keys()
    assert {name for name in given if name.endswith("PASSWORD")} == SECRETS
    for match in VARIABLE.finditer(TEXT):
        if match[1] in SECRETS:
            assert match[1] in match[3] and given[match[1]] == ""
        else:
            assert match[2] == "-" and match[3] == given[match[1]]


def test_no_secret_is_written_down() -> None:
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|TOKEN", variable):
                assert VARIABLE.fullmatch(value), (name, variable)


def test_the_plugin_is_of_the_servers_version() -> None:
    image = SERVICES["elasticsearch"]["image"]
    assert SERVICES["elasticsearch-certificates"]["image"] == image
    assert f"\nFROM {image}\n" in (DEPLOY / "elasticsearch-nori" / "Dockerfile").read_text("utf-8")
    nori = yaml.safe_load((DEPLOY / "compose.nori.yaml").read_text("utf-8"))["services"]["elasticsearch"]
    assert nori["image"].rpartition(":")[2] == image.rpartition(":")[2]
    assert (DEPLOY / nori["build"]["context"] / "Dockerfile").is_file()


def test_scripts_inside_are_shell() -> None:
    (script,) = SERVICES["elasticsearch-certificates"]["command"]
    subprocess.run(["bash", "-n", "-c", script.replace("$$", "$")], check=True)


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_the_command_that_fills_in_passwords(name: str, tmp_path: Path) -> None:
    """The very line of the page, run."""
    (line,) = re.findall(r"^(awk .*)$", (DEPLOY / name).read_text("utf-8"), re.MULTILINE)
    (tmp_path / ".env.example").write_text((DEPLOY / ".env.example").read_text("utf-8"), "utf-8")
    subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True, timeout=20)
    filled = dict(
        entry.split("=", 1) for entry in (tmp_path / ".env").read_text("utf-8").splitlines() if entry[:1].isupper()
    )
    assert filled.keys() == example().keys()
    words = [filled[secret] for secret in SECRETS]
    assert all(re.fullmatch(r"[0-9a-f]{48}", word) for word in words) and len(set(words)) == len(words)
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_the_pages_name_what_is_there(name: str, tmp_path: Path) -> None:
    text = (DEPLOY / name).read_text("utf-8")
    assert all(f"`{profile}`" in text and f"--profile {profile}" in text for profile in sorted(SERVERS))
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (DEPLOY / target).exists(), target
    (tmp_path / "ca.crt").touch()
    (url,) = re.findall(r'"(elasticsearch\+https://[^"]+)"', text)
    address = parse(url.replace("$PWD", str(tmp_path)), "key")
    assert (address.url, address.prefix) == ("https://127.0.0.1:9200", "office")
    assert "milvus+http://127.0.0.1:19530" in text and "postgresql://silmari@" in text
