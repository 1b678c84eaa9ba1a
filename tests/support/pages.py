"""A person's browser without scripts: every page that it is given must be good HTML, whatever the test is about."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import html5lib
from flask import Flask
from werkzeug.test import TestResponse

PASSWORD = "correct horse battery"
_BLOCKS = {"td", "th", "tr", "li", "dt", "dd", "p", "div", "h1", "h2", "h3", "label", "option", "button", "a", "form"}
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_VOID_OF_LABEL = ("hidden", "submit", "button", "reset", "image")


class Page:
    """One HTML answer, checked and taken apart."""

    def __init__(self, response: TestResponse) -> None:
        self.response = response
        self.status = response.status_code
        assert response.content_type == "text/html; charset=utf-8", response.content_type
        self.html = response.text
        self.is_whole = "X-Fragment" not in response.request.headers
        self.root = self._parsed()
        self._check()

    @property
    def text(self) -> str:
        """What a person reads, its white space made single."""
        body = self.root.find("body") if self.is_whole else self.root
        assert body is not None
        return " ".join("".join(_texts(body)).split())

    @property
    def heading(self) -> str:
        """The page's one heading."""
        return " ".join("".join(_texts(next(self.root.iter("h1")))).split())

    def all(self, tag: str, **attributes: str | None) -> list[Element]:
        """The elements of this tag with these attributes; None: with any value; `class_` is one of the classes."""
        return [element for element in self.root.iter(tag) if _has(element, attributes)]

    def links(self) -> dict[str, str]:
        """Where the links lead, by what they say."""
        return {" ".join("".join(_texts(a)).split()): a.get("href", "") for a in self.root.iter("a")}

    def form(self, action: str) -> dict[str, str]:
        """What the form to this path would send if its person changed nothing."""
        form = next(form for form in self.root.iter("form") if urlsplit(form.get("action", "")).path == action)
        return {
            field.get("name", ""): value
            for field in form.iter()
            if field.get("name") and (value := _value(field)) is not None and field.tag != "button"
        }

    def _parsed(self) -> Element:
        parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
        root: Element = parser.parse(self.html) if self.is_whole else _wrapped(parser.parseFragment(self.html))
        return root

    def _check(self) -> None:
        ids = [element.get("id") for element in self.root.iter() if element.get("id")]
        assert len(ids) == len(set(ids)), f"an id twice: {sorted(ids)}"
        if self.is_whole:
            assert len(self.all("h1")) == 1
            title = next(self.root.iter("title")).text or ""
            assert title.startswith(self.heading), f"{title!r} does not begin with {self.heading!r}"
        self._check_forms(set(ids))
        self._check_policy()
        self._check_directions()

    def _check_forms(self, ids: set[str | None]) -> None:
        labelled = {label.get("for") for label in self.root.iter("label")}
        within = {id(field) for label in self.root.iter("label") for field in label.iter()}
        for field in self.root.iter():
            if field.tag in ("input", "select", "textarea") and field.get("type") not in _VOID_OF_LABEL:
                name = field.get("aria-label") or field.get("id") in labelled or id(field) in within
                assert name, f"no label: {field.attrib}"
            described = (field.get("aria-describedby") or "").split()
            assert ids.issuperset(described), f"described by nothing: {described}"
        for form in self.root.iter("form"):
            if form.get("method") == "dialog":
                continue  # It is sent nowhere.
            assert form.get("action"), "a form without an action"
            fields = {field.get("name") for field in form.iter("input")}
            is_get = form.get("method", "get") == "get"
            assert ("csrf_token" in fields) is not is_get, f"the CSRF token of {form.get('action')}"

    def _check_policy(self) -> None:
        """Nothing that the content-security policy would refuse, and nothing from another host."""
        for element in self.root.iter():
            assert element.tag != "style", "an inline style sheet"
            assert "style" not in element.attrib, f"an inline style: {element.attrib}"
            handlers = [name for name in element.attrib if name.startswith("on")]
            assert not handlers, f"inline handlers: {handlers}"
            assert not (element.get("href") or "").lower().startswith("javascript:")
            if element.tag == "script":
                assert element.get("src"), "an inline script"
            if element.tag in ("script", "img", "link", "iframe"):
                source = element.get("src") or element.get("href") or ""
                assert source.startswith("/"), f"{element.tag} from {source}"

    def _check_directions(self) -> None:
        """Text of people that turns the text around it stands in fields alone, and where it is copied from."""
        for element in self.root.iter():
            shown = [text for name, text in element.attrib.items() if name not in ("value", "data-copy")]
            shown += [element.tail or "", "" if element.tag == "textarea" else element.text or ""]
            for text in shown:
                assert not _TURNS.search(text), f"a control of direction in {element.tag}: {text!r}"


class Browser:
    """A person at the pages, signed in or not."""

    def __init__(self, app: Flask, email: str | None = None) -> None:
        self.app = app
        self.email = email
        self.client = app.test_client()

    def get(self, path: str, /, *, fragment: bool = False, **query: Any) -> TestResponse:
        """The answer itself; HTML is checked."""
        headers = {"X-Fragment": "1"} if fragment else {}
        response = self.client.get(path, query_string=query or None, headers=headers, buffered=True)
        if response.mimetype == "text/html" and response.status_code not in range(300, 400):
            Page(response)
        return response

    def page(self, path: str, status: int = 200, /, *, fragment: bool = False, **query: Any) -> Page:
        """The page at this path, which must answer with this status."""
        response = self.get(path, fragment=fragment, **query)
        assert response.status_code == status, f"{path}: {response.status_code} {response.location}"
        return Page(response)

    def post(self, path: str, data: Mapping[str, Any] | None = None, *, has_token: bool = True) -> TestResponse:
        """Send a form, with the CSRF token of this browser."""
        sent = dict(data or {})
        if has_token:
            sent["csrf_token"] = self.csrf_token()
        response = self.client.post(path, data=sent)
        if response.mimetype == "text/html" and response.status_code not in range(300, 400):
            Page(response)
        return response

    def submit(self, path: str, data: Mapping[str, Any] | None = None, status: int = 400) -> Page:
        """Send a form that is answered by a page."""
        response = self.post(path, data)
        assert response.status_code == status, f"{path}: {response.status_code} {response.location}"
        return Page(response)

    def sent_on(self, path: str, data: Mapping[str, Any] | None = None) -> str:
        """Send a form that is answered by sending the browser on; where to."""
        response = self.post(path, data)
        assert response.status_code == 303, f"{path}: {response.status_code} {response.text[:2000]}"
        assert response.location is not None
        return response.location

    def csrf_token(self) -> str:
        """The token of any form."""
        found = re.search(r'name="csrf_token" value="([^"]+)"', self.client.get("/login").text)
        if found is None:
            found = re.search(r'name="csrf_token" value="([^"]+)"', self.client.get("/").text)
        assert found is not None
        return found[1]

    def follow_link(self, secret: str) -> None:
        """Sign in by a link."""
        assert self.post(f"/login/{secret}").status_code == 303


def _wrapped(fragment: Iterable[Element]) -> Element:
    root = Element("div")
    root.extend(list(fragment))
    return root


def _texts(element: Element) -> Iterable[str]:
    """The texts below an element; a block begins a new word."""
    if element.tag in ("script", "style"):
        return
    if element.text:
        yield element.text
    for child in element:
        yield (
            " " if child.tag in ("td", "th", "li", "dt", "dd", "p", "div", "h1", "h2", "tr", "label", "option") else ""
        )
        yield from _texts(child)
        yield child.tail or ""


def _has(element: Element, attributes: Mapping[str, str | None]) -> bool:
    for name, value in attributes.items():
        given = element.get(name.rstrip("_").replace("_", "-"))
        if given is None:
            return False
        if value is not None and value not in (given, *(given.split() if name == "class_" else ())):
            return False
    return True


def _value(field: Element) -> str | None:
    """What the field sends; None where it sends nothing."""
    if field.tag == "textarea":
        return (field.text or "").removeprefix("\n")
    if field.tag == "select":
        options = list(field.iter("option"))
        chosen = [option for option in options if "selected" in option.attrib] or options[:1]
        return chosen[0].get("value", chosen[0].text or "") if chosen else None
    if field.tag != "input" or field.get("type") == "submit":
        return None
    if field.get("type") in ("checkbox", "radio") and "checked" not in field.attrib:
        return None
    return field.get("value", "")
