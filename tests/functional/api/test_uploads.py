"""Opening, sending, completing: the main job."""

from tests.support.api import Api


def test_bytes_that_went_up_come_down(owner: Api) -> None:
    contents = {"rank_0.et": b"zero" * 1000, "empty": b"", "sub/é.et": b"one"}

    traceset = owner.upload(contents)

    assert traceset["status"] == "ready"
    for name, content in contents.items():
        assert owner.read(traceset["id"], name) == content
