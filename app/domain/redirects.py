"""Where a browser may be sent after it has signed in."""

import re
from urllib.parse import urlsplit

_PATH = re.compile(r"/(?![/\\])[^\x00-\x20\x7f\\]*")


def local_path(text: str | None, default: str = "/") -> str:
    """The path on this site that the text names; the default where it names none, or another site.

    Browsers read `//host`, `/\\host` and `/<tab>/host` as another host, so none of them passes.
    """
    if text and _PATH.fullmatch(text) and not urlsplit(text).netloc:
        return text
    return default
