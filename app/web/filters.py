"""How values are written on pages.

Why elements come from here and not from macros: a table writes hundreds of them, and a macro takes several times as
long as a function.
"""

from datetime import datetime
from functools import lru_cache

from flask import Flask
from markupsafe import Markup, escape

from app import clock

_SPANS = {"day": 86_400, "hour": 3600, "minute": 60}
"""Seconds, the longest first."""
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def init_app(app: Flask) -> None:
    """Make the filters known to all templates."""
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    for write in (size_text, size, number, time, status, visible, given):
        app.add_template_filter(write)


def size(n_bytes: int) -> Markup:
    """Bytes as people read them, with the exact number for programs and on pointing."""
    return Markup(  # noqa: S704 - of numbers alone
        f'<data value="{n_bytes}" title="{number(n_bytes)} bytes" class="text-nowrap">{size_text(n_bytes)}</data>'
    )


def size_text(n_bytes: int) -> str:
    """Bytes in the largest unit that leaves a number of at least 1: `1.5 GiB`."""
    if n_bytes < 1024:
        return f"{n_bytes} B"
    value = float(n_bytes)
    for unit in _UNITS:
        value /= 1024
        if value < 1023.95 or unit == _UNITS[-1]:
            break
    return f"{value:,.1f} {unit}"


def number(value: int) -> str:
    """A whole number with its thousands apart, by spaces that do not break: `10 000`."""
    return f"{value:,}".replace(",", "\u202f")


_NEVER = Markup('<span class="none">never</span>')


def time(at: datetime | None) -> Markup:
    """How far a moment is from now, with its minute on pointing; a moment that there is not is "never"."""
    if at is None:
        return _NEVER
    iso = at.isoformat(timespec="seconds")
    return Markup(  # noqa: S704 - of numbers and our own words alone
        f'<time datetime="{iso}" title="{iso[:10]} {iso[11:16]} UTC">{ago(at)}</time>'
    )


def ago(at: datetime) -> str:
    """How far a moment is from now, in the past or in the future; the day where that is more than a month."""
    seconds = (clock.now() - at).total_seconds()
    distance = abs(seconds)
    if distance > 31 * _SPANS["day"]:
        return f"{at:%Y-%m-%d}"
    if distance < _SPANS["minute"]:
        return "just now" if seconds >= 0 else "in a moment"
    name, unit = next((name, unit) for name, unit in _SPANS.items() if distance >= unit)
    count = int(distance // unit)
    text = f"{count} {name}{'s' if count > 1 else ''}"
    return f"{text} ago" if seconds >= 0 else f"in {text}"


_DIRECTION_CONTROLS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Source: Unicode Standard Annex #9, section 2."""
_CONTROLS = (*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0))
_NONCHARACTERS = (*range(0xFDD0, 0xFDF0), *(plane << 16 | last for plane in range(17) for last in (0xFFFE, 0xFFFF)))
"""Controls and noncharacters have no place in HTML. Source: HTML, section 13.2.3.5."""
_SPELT_OUT = {code: f"\u27e8U+{code:04X}\u27e9" for code in (*_DIRECTION_CONTROLS, *_CONTROLS, *_NONCHARACTERS)}


def visible(text: str) -> str:
    """Text with what cannot be seen spelt out: `exe.<U+202E>gpj` must not read as something else."""
    return text if text.isprintable() and text.isascii() else text.translate(_SPELT_OUT)


def given(text: str) -> Markup:
    """Text that people gave: it cannot turn what stands around it, and its direction controls are spelt out."""
    return Markup(f'<bdi class="given">{escape(visible(text))}</bdi>')  # noqa: S704 - escaped here


_TONES = {
    "good": ("ready", "completed"),
    "busy": ("uploading", "open", "processing", "completing"),
    "bad": ("metadata_failed", "upload_failed", "failed"),
}
_TONE_OF = {word: tone for tone, words in _TONES.items() for word in words}


@lru_cache(maxsize=64)
def status(word: str) -> Markup:
    """The status of a traceset, or the state of a session."""
    tone = _TONE_OF.get(word, "off")
    return Markup(f'<span class="badge-status tone-{tone}">{escape(word.replace("_", " "))}</span>')  # noqa: S704 - escaped here
