"""No request that can be made up from the document meets an answer that the document does not describe.

A few examples for each operation, the same ones at each run; `python -m tests.fuzz` tries as many as one likes.
"""

import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.openapi.loaders import from_wsgi

from tests.conftest import People

CONFIGURATION = Path(__file__).parents[1] / "fuzz" / "schemathesis.toml"
FEW = settings(
    max_examples=10,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
def test_every_answer_is_described(app: Flask, people_here: People, mode: GenerationMode) -> None:
    token = {"Authorization": f"Bearer {people_here.admin.token}"}
    configuration = SchemathesisConfig.from_dict(tomllib.loads(CONFIGURATION.read_text()) | {"headers": token})
    schema = from_wsgi("/api/v1/openapi.json", app, config=configuration)
    n_tried = 0

    for operation in (found.ok() for found in schema.get_all_operations()):

        @FEW
        @given(case=operation.as_strategy(generation_mode=mode))
        def try_one(case: schemathesis.Case) -> None:
            nonlocal n_tried
            n_tried += 1
            case.call_and_validate(headers=token)

        # Where a request holds nothing but text, none can be invalid.
        with suppress(Unsatisfiable):
            try_one()

    assert n_tried >= 100
