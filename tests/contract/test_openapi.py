"""The API's document is valid, complete, and says what the API does."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from jsonschema_rs import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from werkzeug.test import TestResponse

from app.openapi import build_document, describe_path
from tests.conftest import MakeApp, People
from tests.support.api import Api, ok, refused
from tests.support.document import Document, document_of

JSON = dict[str, Any]
METHODS = {"GET", "POST", "PUT", "PATCH", "DELETE"}


@pytest.fixture
def document(app: Flask) -> JSON:
    """The document as it goes out."""
    return json.loads(app.test_client().get("/api/v1/openapi.json").data)


def operations_of(document: JSON) -> Iterator[tuple[str, JSON]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def test_the_document_is_valid_openapi_3_1(document: JSON) -> None:
    assert document["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(document).validate()


def test_the_document_needs_no_token(people_here: People) -> None:
    ok(people_here.nobody.get("/openapi.json"))


def test_every_route_of_the_api_is_in_the_document(app: Flask, document: JSON) -> None:
    routes = {
        f"{method} {describe_path(rule.rule)}"
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api/")
        for method in (rule.methods or set()) & METHODS
    }

    assert {name for name, _ in operations_of(document)} == routes


def test_routes_that_a_deployment_does_not_have_are_not_in_its_document(make_app: MakeApp) -> None:
    everything = build_document(make_app())["paths"]
    read_only = build_document(make_app(trace_routes_read_only=True))["paths"]
    without = build_document(make_app(enable_trace_routes=False))["paths"]

    assert "delete" in everything["/api/v1/tracesets/{id}"]
    assert read_only["/api/v1/tracesets/{id}"].keys() == {"get"}
    assert "/api/v1/tracesets/upload-url" not in read_only
    assert not [path for path in without if "traceset" in path or "mapping" in path]
    assert "/api/v1/workspaces" in without


@pytest.mark.parametrize(
    "name",
    [
        "UploadRequest",
        "UploadFileSpec",
        "UploadWorkloadMetadata",
        "WorkloadShape",
        "WorkloadParallelism",
        "CompleteUploadRequest",
        "CompletedFileInput",
        "Traceset",
        "TracesetFile",
        "Error",
    ],
)
def test_the_schemas_that_clients_know_by_name_are_there(document: JSON, name: str) -> None:
    assert name in document["components"]["schemas"]


def test_the_workload_metadata_of_an_upload_is_described_by_name(document: JSON) -> None:
    member = document["components"]["schemas"]["UploadRequest"]["properties"]["workloadMetadata"]

    assert {"$ref": "#/components/schemas/UploadWorkloadMetadata"} in member["anyOf"]


def test_what_may_be_null_and_what_is_a_time_is_said_in_json_schema(document: JSON) -> None:
    members = document["components"]["schemas"]["Traceset"]["properties"]

    assert members["rankCountDerived"]["type"] == ["integer", "null"]
    assert (members["createdAt"]["type"], members["createdAt"]["format"]) == ("string", "date-time")
    assert "nullable" not in json.dumps(document)


def test_every_operation_says_what_it_does_under_a_name_of_its_own(document: JSON) -> None:
    operations = [operation for _, operation in operations_of(document)]

    assert all(operation["summary"] and operation["tags"] for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(operations)


def test_every_parameter_has_a_type_and_a_description(document: JSON) -> None:
    parameters = [
        (name, parameter)
        for name, operation in operations_of(document)
        for parameter in operation.get("parameters", ())
    ]

    assert parameters
    assert [name for name, parameter in parameters if not parameter.get("description")] == []
    assert [name for name, parameter in parameters if "type" not in parameter["schema"]] == []


def test_every_body_has_an_example_that_its_schema_takes(app: Flask, document: JSON) -> None:
    validator_of = Document(document).validator_of
    bodies = list(_bodies(document))

    assert [where for where, content in bodies if "example" not in content] == []
    for _, content in bodies:
        validator_of(content["schema"]["$ref"]).validate(content["example"])


def _bodies(document: JSON) -> Iterator[tuple[str, JSON]]:
    resolve = Document(document).resolve
    for name, operation in operations_of(document):
        if name == "GET /api/v1/openapi.json":
            continue
        described = [operation.get("requestBody", {}), *map(resolve, operation["responses"].values())]
        for content in (part["content"]["application/json"] for part in described if "content" in part):
            yield name, content


def test_the_examples_of_parameters_are_of_their_types(document: JSON) -> None:
    for _, operation in operations_of(document):
        for parameter in operation.get("parameters", ()):
            schema = parameter["schema"]
            for example in [*schema.get("examples", ()), *([parameter["example"]] if "example" in parameter else ())]:
                Draft202012Validator(schema).validate(example)


def test_every_operation_names_the_errors_that_any_may_meet(document: JSON) -> None:
    for name, operation in operations_of(document):
        statuses = operation["responses"].keys()
        assert "500" in statuses, name
        if operation.get("security") != []:
            assert {"401", "503"} <= statuses, name
        if "requestBody" in operation:
            assert {"400", "413", "415"} <= statuses, name
        if "{" in name:
            assert "404" in statuses, name


def test_the_document_names_no_clause_of_the_contract(document: JSON) -> None:
    descriptions = [operation.get("description", "") + operation["summary"] for _, operation in operations_of(document)]
    descriptions += [schema["description"] for schema in document["components"]["schemas"].values()]

    assert [text for text in descriptions if re.search(r"\([A-Z]\d", text)] == []


def test_the_example_of_an_upload_opens_one(people_here: People, document: JSON) -> None:
    operation = document["paths"]["/api/v1/tracesets/upload-url"]["post"]

    ok(
        people_here.admin.post(
            "/tracesets/upload-url", operation["requestBody"]["content"]["application/json"]["example"]
        )
    )


class TestTheCheckOfAnswers:
    """The check that `Api` makes of every answer finds what it is there for."""

    @pytest.fixture
    def answer(self, owner: Api) -> TestResponse:
        """An answer as it should be."""
        response = owner.get("/workspaces")
        document_of(owner.app).check(response)
        return response

    def test_finds_a_status_that_is_not_described(self, owner: Api, answer: TestResponse) -> None:
        answer.status_code = 418

        with pytest.raises(AssertionError, match="418 is not described"):
            document_of(owner.app).check(answer)

    def test_finds_a_missing_header(self, owner: Api, answer: TestResponse) -> None:
        del answer.headers["X-Request-Id"]

        with pytest.raises(AssertionError, match="X-Request-Id is missing"):
            document_of(owner.app).check(answer)

    def test_finds_another_content_type(self, owner: Api, answer: TestResponse) -> None:
        answer.headers["Content-Type"] = "text/html"

        with pytest.raises(AssertionError, match="text/html"):
            document_of(owner.app).check(answer)

    @pytest.mark.parametrize(
        "body",
        [{}, {"items": None}, {"items": [], "more": 1}, {"items": [{"id": 1, "name": "", "role": None}]}],
        ids=["a member less", "another type", "a member more", "another type inside"],
    )
    def test_finds_another_body(self, owner: Api, answer: TestResponse, body: JSON) -> None:
        answer.data = json.dumps(body)

        with pytest.raises(AssertionError, match="/workspaces"):
            document_of(owner.app).check(answer)

    def test_takes_the_answer_of_a_route_that_does_not_exist(self, owner: Api) -> None:
        refused(owner.get("/nowhere"), 404)
        refused(owner.call("PUT", "/workspaces"), 405)
