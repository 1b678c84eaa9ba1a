"""A deployment in the middle of its life, for the pages to show: people, hundreds of tracesets, failures."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import select, update

from app import clock, create_app
from app.domain.access import Role
from app.extensions import db
from app.models.people import User
from app.models.tracesets import Status, Traceset
from app.models.uploads import SessionState, UploadSession
from app.services import people, workspaces
from app.services.workspaces import OPERATOR
from app.settings import Settings
from app.transactions import reading, transaction
from tests.support.api import Api, file_spec, ok

EMAIL = "mina.okafor@lab.example"
PASSWORD = "correct horse battery"
FAMILIES = ("Llama", "Mixtral", "GPT", "DLRM", "ResNet", "Stable Diffusion")
ACCELERATORS = ("H100-SXM", "A100-80GB", "MI300X", "TPU v5p")
TAGS = ("nightly", "baseline", "fp8", "regression")
LONG = (
    "nightly/2026-11/pretrain-resume-after-checkpoint-44000_mixtral-8x22b_dp32-tp8-pp4-ep8_seq8192_gbs2048_"
    "bf16-fp8-hybrid_nccl-2.21_rerun-with-overlapped-grad-reduce-and-distributed-optimizer.candidate-7"
)
HOSTILE = (
    '<script>alert("traceset")</script>',
    "quotes \"double\" 'single' `back` & ampersand &amp;",
    "right-to-left \u202eoverride\u202c and \u2066isolate\u2069",
    "emoji 👩‍🚀🚀 and accents Ünïcödé 日本語のトレース",
)
MIB = 1024 * 1024


def make_demo(folder: Path, *, n_tracesets: int = 240, **settings: Any) -> tuple[Settings, str]:
    """Fill a fresh database and disk store below this folder; its settings, and the token of its person."""
    given = Settings(data_dir=folder, secret_key="a key for tests", sweep_interval=0, part_size=5 * MIB, **settings)
    app = create_app(given)
    with app.app_context():
        upgrade()
        token = _make_people()
        api = Api(app, token)
        _fill(app, api, n_tracesets)
        db.engine.dispose()
    return given, token


def _make_people() -> str:
    people.create_user(EMAIL, password=PASSWORD, is_admin=True)
    for name in ("jo.lindqvist", "ravi.patel", "chen.wei", "capture-bot", "a-person-of-a-long-name.who-left.last-year"):
        people.create_user(f"{name}@lab.example", is_admin=name == "chen.wei")
    with transaction() as session:
        session.execute(update(User).where(User.email.startswith("a-person")).values(is_disabled=True))
    for name in ("Training team", "Inference benchmarks", "Collective library"):
        workspace_id = workspaces.create_workspace(OPERATOR, name, EMAIL)
        workspaces.set_member(OPERATOR, workspace_id, "jo.lindqvist@lab.example", Role.EDITOR)
        workspaces.set_member(OPERATOR, workspace_id, "ravi.patel@lab.example", Role.VIEWER)
    people.create_token(EMAIL, name="laptop", days=90)
    people.create_token(EMAIL, name="nightly capture on cluster-7", is_read_only=True, days=30)
    return people.create_token(EMAIL, name="demo")


def _fill(app: Flask, api: Api, n_tracesets: int) -> None:
    places = [item["id"] for item in ok(api.get("/workspaces"))["items"]]
    for number in range(n_tracesets):
        _upload(api, number, places[number % len(places)])
    _upload_many_files(api, places[1])
    for name in HOSTILE:
        contents = {f"{name}.et": b"x" * 10, "a/" + "long-" * 200 + ".json": b"{}"}
        api.upload(contents, name=name, tags=[name[:100]], description=name, workspaceId=places[1])
    open_session = api.open({"rank_0.et": 12 * MIB, "rank_1.et": 12 * MIB}, name="Half sent", workspaceId=places[1])
    api.put(open_session["files"][0]["parts"][0]["url"], b"\0" * 5 * MIB)
    _be_stuck(Api(app, people.create_token("jo.lindqvist@lab.example")), places[1])
    for number in range(3):
        failed = api.open({"rank_0.et": 12 * MIB}, name=f"Aborted by its owner {number}", workspaceId=places[2])
        api.delete(f"/tracesets/upload-url/{failed['uploadId']}")
    _break_one(api)
    _spread_over_time()


def _upload(api: Api, number: int, workspace_id: str) -> None:
    family, ranks = FAMILIES[number % len(FAMILIES)], 2 ** (number % 4 + 1)
    names = [f"{family.lower().replace(' ', '-')}.{rank}.et" for rank in range(ranks)]
    contents = {name: (name.encode() * (number * 37 % 400 + 5))[: number * 911 % 65_000 + 100] for name in names}
    contents["comm_groups.json"] = b'{"groups": {}}'
    api.upload(
        contents,
        files=[
            file_spec(name, len(content), "supporting" if name.endswith("json") else "primary")
            for name, content in contents.items()
        ],
        name=LONG if number % 37 == 5 else f"{family} {7 + number % 5 * 8}B, step {number * 50}, {ranks} ranks",
        description="Captured with the nightly job; compare with last week's run." if number % 3 == 0 else None,
        tags=[
            tag for position, tag in enumerate(("nightly", "baseline", "fp8", "regression")) if number >> position & 1
        ],
        workspaceId=workspace_id,
        workloadMetadata={
            "workload_family": family,
            "workload_name": f"{family.lower()}-pretrain",
            "precision": ("bf16", "fp8", "fp32")[number % 3],
            "accelerator": ACCELERATORS[number % len(ACCELERATORS)],
            "parallelism": {"dp": ranks // 2, "tp": 2, "pp": 1},
            "shape": {"rankCount": ranks, "global_batch_size": 2048, "sequence_length": 8192},
            "software": {"pytorch": "2.9.1", "nccl": "2.28.3", "flags": ["overlap-grad-reduce", "sp"]},
        },
    )


def _upload_many_files(api: Api, workspace_id: str) -> None:
    names = [f"capture/host{number // 8:04}/rank_{number:05}.et" for number in range(1000)]
    files = [
        file_spec(name, 1000 + number, "primary", externalUrl=f"https://store.example/{name}")
        for number, name in enumerate(names)
    ]
    session = api.open(
        files, name="Thousand ranks", workspaceId=workspace_id, workloadMetadata={"shape": {"rankCount": 1000}}
    )
    ok(api.complete(session, []), 201)


def _be_stuck(api: Api, workspace_id: str) -> None:
    """Sessions of somebody else: one with holes in what has arrived, and one whose completion died."""
    files = {"rank_0.et": 61 * MIB, "rank_1.et": 18 * MIB, "comm_groups.json": 900}
    holed = api.open(files, name="Mixtral 22B, step 44000", workspaceId=workspace_id)
    for number in (1, 2, 3, 6, 7, 11):
        api.put(holed["files"][0]["parts"][number - 1]["url"], b"\0" * 5 * MIB)
    stuck = api.open({"rank_0.et": 3}, name="Completion that died", workspaceId=workspace_id)
    with transaction() as session:
        claimed = {"state": SessionState.COMPLETING, "claim": "0c71b0f4e2", "claimed_until": clock.now()}
        session.execute(update(UploadSession).where(UploadSession.id == stuck["uploadId"]).values(claimed))


def _break_one(api: Api) -> None:
    """A traceset whose validation has found something."""
    traceset = api.upload(
        {"rank_0.et": b"not a trace"},
        files=[file_spec("rank_0.et", 11, "primary")],
        name="Does not validate",
        workloadMetadata={"shape": {"rankCount": 4}},
    )
    ok(api.post(f"/tracesets/{traceset['id']}/validate", {"deep": True}))


def _spread_over_time() -> None:
    now = clock.now()
    with transaction() as session:
        rows = session.execute(select(Traceset.seq, Traceset.name).order_by(Traceset.seq.desc())).all()
        for age, (seq, _) in enumerate(rows):
            made = now - timedelta(minutes=7 * age**1.45)
            expires = made + timedelta(days=365) if seq % 5 else None
            statement = update(Traceset).where(Traceset.seq == seq)
            session.execute(statement.values(created_at=made, expires_at=expires))
        failed = update(UploadSession).where(UploadSession.state == SessionState.ABORTED)
        reason = "File rank_0.et is 13631488 bytes, larger than its declared size of 12582912 bytes"
        session.execute(failed.values(state=SessionState.FAILED, failure=reason))


def demo_ids(app_api: Api) -> Iterator[tuple[str, str]]:
    """Tracesets worth a picture, by name."""
    for name, search, status in (
        ("ready", "Llama", Status.READY),
        ("long", "nightly/", Status.READY),
        ("many", "Thousand", Status.READY),
        ("broken", "Does not", Status.READY),
        ("half", "Half sent", Status.UPLOADING),
        ("failed", "Aborted", Status.UPLOAD_FAILED),
    ):
        items = ok(app_api.get("/tracesets", search=search, status=status.value))["items"]
        yield name, items[0]["id"]


def demo_sessions(app: Flask) -> Iterator[tuple[str, str]]:
    """Upload sessions worth a picture, by name."""
    searches = {"holed": "Mixtral 22B, step 44000", "stuck": "Completion that died", "many": "Thousand ranks"}
    with app.app_context(), reading() as session:
        for name, traceset in searches.items():
            statement = select(UploadSession.id).join(Traceset, Traceset.seq == UploadSession.traceset_seq)
            yield name, session.scalars(statement.where(Traceset.name == traceset)).one()
