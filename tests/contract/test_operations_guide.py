"""What docs/operations.md names is there."""

import configparser
import re

from flask import Flask
from prometheus_client import generate_latest

from app.services.fsck import Fault
from tests.support.server import PROJECT

GUIDE = (PROJECT / "docs" / "operations.md").read_text()


def test_every_metric_is_told_and_those_that_are_told_are_there() -> None:
    there = set(re.findall(r"^# TYPE (tracesets_\w+)", generate_latest().decode(), re.MULTILINE))
    there = {name for name in there if not name.endswith("_created")}

    told = set(re.findall(r"tracesets_[a-z_]+", GUIDE))

    assert {re.sub("_(bucket|count|sum)$", "", name) for name in told} == there


def test_every_command_that_is_told_is_there(app: Flask) -> None:
    told = set(re.findall(r"flask --app wsgi ([a-z]+(?: [a-z]+(?=[`\s]))?)", GUIDE))
    assert {"fsck", "storage check", "sweep", "db upgrade"} <= told
    for words in told:
        result = app.test_cli_runner().invoke(args=[*words.split(), "--help"])
        assert result.exit_code == 0, words


def test_every_fault_is_told() -> None:
    assert {fault.value for fault in Fault} - set(re.findall(r"`([a-z_]+)`", GUIDE)) == set()


def test_the_unit_starts_what_is_there() -> None:
    found = re.search(r"```ini\n(.*?)```", GUIDE, re.DOTALL)
    assert found
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(found[1])

    assert unit["Service"]["ExecStart"].endswith("/gunicorn -c gunicorn.conf.py wsgi:app")
    assert unit["Service"]["ExecStartPre"].endswith("/flask --app wsgi db upgrade")
    assert (PROJECT / "gunicorn.conf.py").exists()
