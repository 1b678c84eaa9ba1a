"""The header that makes a browser save a download under its own name.

Both stores write it: S3 answers with what the signed URL asks for, the disk store's door with what it sets itself.
"""

from urllib.parse import quote

# What RFC 8187, section 3.2.1, allows bare (attr-char) beside the characters that `quote` never escapes.
_ATTR_CHARS = "!#$&+^`|"


def attachment(name: str) -> str:
    """The value of Content-Disposition for an attachment of this name.

    The last segment of a path is shown, without control characters and lone surrogates. A name that a quoted
    string cannot carry to every browser (anything but printable ASCII, and `%`, which some would decode) is told
    twice: in ASCII for old clients, and whole in `filename*`, which all others prefer.

    Returns:
        Printable ASCII on one line, safe as a header whatever `name` holds.

    Source: RFC 6266, section 4.3 and appendix D; RFC 8187, section 3.2.
    """
    shown = "".join(char for char in name.rsplit("/", 1)[-1] if _is_text(char)) or "download"
    plain = "".join(char if " " <= char <= "~" and char != "%" else "_" for char in shown)
    quoted = plain.replace("\\", "\\\\").replace('"', '\\"')
    value = f'attachment; filename="{quoted}"'
    if plain != shown:
        value += f"; filename*=UTF-8''{quote(shown, safe=_ATTR_CHARS)}"
    return value


def _is_text(char: str) -> bool:
    """Whether a header may speak of the character: no C0 or C1 control, no half of a surrogate pair."""
    code = ord(char)
    return not (code < 0x20 or 0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF)
