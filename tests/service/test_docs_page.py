"""The page at /docs: all of the OpenAPI document, in a page that needs nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from test_console import errors

from longrank.service.http.docs import render
from longrank.service.http.openapi import tree

TEXT = render().body.decode()
VOID = {"meta", "link"}


class Tags(HTMLParser):
    """The tags of a page, which must be closed in order, and its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_every_call_parameter_message_and_field_is_in_it():
    document = tree()
    plain = unescape(re.sub(r"<[^>]+>", "", TEXT))
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            assert f"{method.upper()} {path}" in plain
            assert call["summary"].replace("`", "") in plain
            section = TEXT.partition(f'<h3 id="call-{call["operationId"]}">')[2].partition("<h3")[0]
            for parameter in call["parameters"]:
                assert f"<code>{parameter['name']}</code>" in section
            for status in call["responses"]:
                assert status in section
            assert call["description"] in unescape(section)
    for name, schema in document["components"]["schemas"].items():
        section = TEXT.partition(f'<h3 id="{name}">')[2].partition("<h3")[0]
        assert section, name
        for field in schema.get("properties", {}):
            assert f"<code>{field}</code>" in section, (name, field)


def test_it_is_well_formed_its_links_lead_somewhere_and_nothing_is_loaded():
    tags = Tags(TEXT)
    assert tags.open == []
    assert not {"script", "img", "iframe", "object"} & tags.names
    ids = [value for name, value in tags.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = {value for name, value in tags.attributes if name in ("href", "src")}
    assert {link[1:] for link in links if link[0] == "#"} <= set(ids)
    assert {link for link in links if link[0] != "#"} == {"/", "/openapi.json", "data:,"}
    assert not [value for name, value in tags.attributes if name in ("style", "onclick")]


def test_its_policy_allows_its_own_style_and_nothing_else(http):
    answer = http.get("/docs")
    policy = answer.headers["content-security-policy"]
    style = re.search(r"<style>(.*)</style>", answer.text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1300])
def test_a_browser_shows_it_with_its_style_and_without_complaint(browser, http, width):
    browser.set_window_size(width, 900)
    browser.get(f"{http.base_url}/docs")
    style = "return getComputedStyle(document.querySelector('th')).fontWeight"
    assert browser.execute_script(style) == "600"
    room = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.execute_script(room) <= 0
    assert errors(browser) == []
