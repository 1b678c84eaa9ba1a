"""What is hidden from a caller looks as if it had never been (G5)."""

from tests.support.api import Api, refused


def assert_hidden(caller: Api, method: str, path: str, hidden: str, *, body: object = ...) -> None:
    """The answer about what is hidden is, byte for byte but for its id, the one about what never was.

    Args:
        caller: who may not see it.
        method: of the request.
        path: of the request, with `*` in the place of the id.
        hidden: the id of what is there.
        body: of the request, as JSON.
    """
    kind = hidden.partition("_")[0]
    missing = f"{kind}_{'0' * (len(hidden) - len(kind) - 1)}"
    answers = [caller.call(method, path.replace("*", id_), body) for id_ in (hidden, missing)]
    for answer in answers:
        refused(answer, 404)
    seen, never = (
        (
            answer.data.replace(id_.encode(), b"*"),
            [(name, value) for name, value in answer.headers if name not in ("X-Request-Id", "Date")],
        )
        for answer, id_ in zip(answers, (hidden, missing), strict=True)
    )
    assert seen == never
