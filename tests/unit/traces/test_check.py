"""Checks of trace files: a corpus in which each file breaks one rule, and bytes of any kind."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.traces.check import HEAD_SIZE, check_trace_file, check_whole_file
from app.traces.findings import Finding, Severity, has_error
from app.traces.sniff import Format, identify

CORPUS = Path(__file__).parents[2] / "data" / "traces"
# May name a folder of real traces; every one of them is then put through the same checks.
REAL_TRACES = os.environ.get("REAL_TRACES")

EXPECTED = [
    ("apple-double.0.et", Format.APPLE_DOUBLE, "error", "apple_double"),
    ("bad-frame.0.et", Format.CHAKRA, "error", "chakra_bad_frame"),
    ("bad-sum.0.json.gz", Format.UNKNOWN, "error", "gzip_broken"),
    ("broken.0.json", Format.KINETO, "error", "json_broken"),
    ("collective.xml", Format.COLLECTIVE_XML, "warning", "companion"),
    ("cut.0.json.gz", Format.KINETO, "error", "gzip_broken"),
    ("dangling-deps.0.et", Format.CHAKRA, "warning", "chakra_dangling_deps"),
    ("duplicate-ids.0.et", Format.CHAKRA, "warning", "chakra_duplicate_ids"),
    ("empty-frame.0.et", Format.CHAKRA, "warning", "chakra_empty_frame"),
    ("empty.0.et", Format.EMPTY, "error", "empty"),
    ("empty.0.json.gz", Format.EMPTY, "error", "empty"),
    ("endless-length.0.et", Format.CHAKRA, "error", "chakra_bad_length"),
    ("error-page.0.json", Format.ERROR_PAGE, "error", "error_page"),
    ("garbage.0.et", Format.UNKNOWN, "error", "unreadable"),
    ("git-lfs-pointer.tgz", Format.GIT_LFS_POINTER, "error", "git_lfs_pointer"),
    ("groups.json", Format.COMM_GROUPS, "warning", "companion"),
    ("json.0.et", Format.KINETO, "warning", "misnamed"),
    ("length-overrun.0.et", Format.CHAKRA, "error", "chakra_bad_length"),
    ("lines.jsonl", Format.JSON_LINES, "warning", "unknown_format"),
    ("nan.0.json", Format.KINETO, "warning", "json_constant"),
    ("no-metadata.0.et", Format.CHAKRA, "warning", "chakra_no_metadata"),
    ("no-nodes.0.et", Format.CHAKRA, "warning", "chakra_no_nodes"),
    ("nodes.txt", Format.TEXT, "warning", "unknown_format"),
    ("not-utf8.0.json", Format.KINETO, "error", "json_not_utf8"),
    ("packed.0.json", Format.KINETO, "warning", "packed"),
    ("packed.0.json.xz", Format.XZ, "warning", "not_opened"),
    ("packed.0.json.zst", Format.ZSTD, "warning", "not_opened"),
    ("plain.0.json.gz", Format.KINETO, "warning", "not_packed"),
    ("protobuf.0.json", Format.CHAKRA, "warning", "misnamed"),
    ("schema-001.0.eg", Format.CHAKRA, "warning", "chakra_old_schema"),
    ("schema-003.0.et", Format.CHAKRA, "warning", "chakra_old_schema"),
    ("settings.json", Format.JSON_OBJECT, "warning", "unknown_format"),
    ("started.txt", Format.JSON_ARRAY, "warning", "unknown_format"),
    ("store-error.0.et", Format.ERROR_PAGE, "error", "error_page"),
    ("timeline.json", Format.JSON_ARRAY, "warning", "unknown_format"),
    ("trailing.0.json.gz", Format.KINETO, "error", "gzip_broken"),
    ("truncated.0.et", Format.CHAKRA, "error", "chakra_truncated"),
    ("truncated.0.json", Format.KINETO, "error", "json_broken"),
    ("twice.0.json.gz", Format.GZIP, "warning", "gzip_twice"),
    ("unclosed.0.json", Format.CHROME_EVENTS, "warning", "json_unclosed"),
    ("unknown.bin", Format.UNKNOWN, "warning", "unknown_format"),
    ("utf16.0.json", Format.UTF16, "error", "utf16"),
    ("utf8-mark.0.json", Format.KINETO, "warning", "utf8_mark"),
    ("words.0.json", Format.TEXT, "error", "unreadable"),
]
GOOD = [
    ("good-astra.txt", Format.ASTRA_TEXT),
    ("good-events.0.json", Format.CHROME_EVENTS),
    ("good-feeder.0.json", Format.CHAKRA_FEEDER_JSON),
    ("good-flexflow.graph", Format.DOT),
    ("good-host.0.json", Format.PYTORCH_HOST),
    ("good-jsonizer.0.json", Format.CHAKRA_JSONIZER),
    ("good-kineto.0.json", Format.KINETO),
    ("good-kineto.0.json.gz", Format.KINETO),
    ("good-members.0.json.gz", Format.KINETO),
    ("good-old.tar", Format.TAR),
    ("good-packed.0.et", Format.CHAKRA),
    ("good-simai.txt", Format.SIMAI_TEXT),
    ("good.0.et", Format.CHAKRA),
    ("good.tgz", Format.TAR),
    ("good.zip", Format.ZIP),
]


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def codes(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.severity.value, finding.code) for finding in findings]


@pytest.mark.parametrize(("name", "kind", "severity", "code"), EXPECTED, ids=[row[0] for row in EXPECTED])
def test_a_file_that_breaks_one_rule_has_that_one_finding(name: str, kind: Format, severity: str, code: str) -> None:
    data = (CORPUS / name).read_bytes()

    assert identify(data).format is kind
    assert codes(check_trace_file(name, len(data), data)) == [(severity, code)]
    assert codes(check_whole_file(name, len(data), in_pieces(data, 7))) == [(severity, code)]


@pytest.mark.parametrize(("name", "kind"), GOOD, ids=[row[0] for row in GOOD])
def test_a_file_as_it_should_be_has_no_findings(name: str, kind: Format) -> None:
    data = (CORPUS / name).read_bytes()

    assert identify(data).format is kind
    assert check_trace_file(name, len(data), data) == []
    assert check_whole_file(name, len(data), in_pieces(data, 7)) == []


def test_every_file_of_the_corpus_is_expected_and_explained() -> None:
    readme = (CORPUS / "README.md").read_text()
    files = {path.name for path in CORPUS.iterdir()} - {"README.md"}

    assert files == {row[0] for row in EXPECTED} | {row[0] for row in GOOD}
    assert files == {line.split("`")[1] for line in readme.splitlines() if line.startswith("| `")}


def test_a_head_that_is_not_the_whole_file_is_not_called_cut_or_dangling() -> None:
    data = (CORPUS / "good.0.et").read_bytes()

    assert check_trace_file("good.0.et", len(data), data[: len(data) // 2]) == []


def test_a_head_of_packed_data_is_not_called_broken() -> None:
    data = (CORPUS / "cut.0.json.gz").read_bytes()

    assert check_trace_file("cut.0.json.gz", len(data) + 20, data) == []


def test_a_cut_far_behind_the_head_is_found_in_the_whole_file() -> None:
    good = (CORPUS / "good.0.et").read_bytes()
    metadata, nodes = good[:8], good[8:]
    data = metadata + nodes * (1 + HEAD_SIZE // len(nodes)) + nodes[:-1]

    assert not has_error(check_trace_file("big.0.et", len(data), data[:HEAD_SIZE]))
    assert codes(check_whole_file("big.0.et", len(data), [data])) == [("error", "chakra_truncated")]


def test_only_the_head_is_taken_of_a_file_that_is_not_walked() -> None:
    chunks = iter([b'{"traceEvents": ['] + [b" " * HEAD_SIZE] * 3)

    assert check_whole_file("a.json", 4 * HEAD_SIZE, chunks) == []
    assert len(list(chunks)) == 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/b.et/words", [("warning", "unknown_format")]),
        ("WORDS.ET.GZ", [("error", "unreadable"), ("warning", "not_packed")]),
        ("words", [("warning", "unknown_format")]),
    ],
    ids=["folder says nothing", "capitals", "no extension"],
)
def test_the_extension_of_the_name_is_what_promises(name: str, expected: list[tuple[str, str]]) -> None:
    assert codes(check_trace_file(name, 5, b"words")) == expected


def test_numbers_longer_than_python_reads_are_no_fault() -> None:
    data = b'{"traceEvents": [], "baseTimeNanoseconds": ' + b"9" * 5000 + b"}"

    assert check_trace_file("a.json", len(data), data) == []


def test_json_nested_beyond_what_can_be_read_is_told() -> None:
    data = b'{"traceEvents": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"

    assert codes(check_trace_file("a.json", len(data), data)) == [("warning", "json_deep")]


@given(
    name=st.sampled_from(["a.0.et", "a.json", "a.json.gz", "a.tgz", "a", "a.zip"]) | st.text(max_size=30),
    data=st.binary(max_size=400),
    n_unseen=st.sampled_from([0, 1, 10**6]),
)
def test_any_bytes_give_findings_and_no_exception(name: str, data: bytes, n_unseen: int) -> None:
    for finding in check_trace_file(name, len(data) + n_unseen, data):
        assert isinstance(finding.severity, Severity)
    check_whole_file(name, len(data), in_pieces(data, 3))


@given(data=st.data())
def test_any_damage_to_a_good_file_gives_findings_and_no_exception(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([row[0] for row in GOOD]))
    content = bytearray((CORPUS / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]

    check_trace_file(name, len(content), bytes(content))
    check_whole_file(name, len(content), in_pieces(bytes(content), 5))


@given(st.dictionaries(st.text(), st.none() | st.floats() | st.text() | st.lists(st.text()), max_size=5))
def test_any_json_object_is_taken_for_json(value: object) -> None:
    data = json.dumps({"": value}).encode()

    assert identify(data).format is Format.JSON_OBJECT


def test_real_traces_give_findings_and_no_exception() -> None:
    folders = [CORPUS, *([Path(REAL_TRACES)] if REAL_TRACES else [])]
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        head = check_trace_file(path.name, len(data), data[:HEAD_SIZE])
        whole = check_whole_file(path.name, len(data), in_pieces(data, 4096))
        assert not has_error(head) or has_error(whole), path
