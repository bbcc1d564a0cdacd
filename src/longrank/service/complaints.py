"""Complaints of msgspec about a request, as parameter, rule and value."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from longrank.errors import InvalidInput

_FIELD, _AT = re.compile(r" field `([^`]+)`"), re.compile(r" - at `\$\.?([^`]+)`$")
_EXPECTED = re.compile(
    r"Expected `(?P<kinds>[^`]+)`"
    r"(?: (?P<sign>[<>]=?) (?P<limit>\S+)| of length (?P<bound>[<>]=)? ?(?P<length>\d+)"
    r"| matching regex '(?P<pattern>.+)')?(?:, got `[^`]+`)? - at `\$\.(?P<path>[^`]+)`"
)
_CHOICE = re.compile(r"Invalid enum value (?P<value>.+) - at `\$\.(?P<path>\w+)`")
_STEP = re.compile(r"([^.\[\]]+)")
_KINDS = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false",
    "bytes": "base64", "array": "a list", "object": "an object", "null": "null",
}  # fmt: skip
_SIGNS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}


def blamed(sentence: str) -> str | None:
    """Return the field that msgspec complains about, as ``candidates[0].id``."""
    found = [pattern.search(sentence) for pattern in (_AT, _FIELD)]
    return ".".join(match[1] for match in found if match) or None


def translate(
    error: msgspec.ValidationError, body: Any, kind: type | None = None
) -> InvalidInput | None:
    """Return what msgspec complains about as parameter, rule and value of the body.

    None for a complaint that names no value, such as that of a field that is missing. The values
    that a field may have are told if the kind of message is known.
    """
    if kind is not None and (chosen := _CHOICE.fullmatch(str(error))):
        fields = msgspec.inspect.type_info(kind).fields  # type: ignore[attr-defined]
        for field in fields:
            if field.encode_name == chosen["path"] and hasattr(field.type, "values"):
                rule = "be one of " + ", ".join(map(str, field.type.values))
                return InvalidInput(chosen["path"], rule, chosen["value"])
    found = _EXPECTED.fullmatch(str(error))
    if found is None:
        return None
    value = body
    try:
        for step in _STEP.findall(found["path"]):
            value = value[int(step) if isinstance(value, list | tuple) else step]
    except (KeyError, IndexError, ValueError, TypeError):  # one of any values of a dictionary
        return None
    if found["sign"]:
        rule = f"be {_SIGNS[found['sign']]} {float(found['limit']):.10g}"
    elif found["length"]:
        bound = f"{_SIGNS[found['bound']]} " if found["bound"] else ""
        rule = f"have {bound}{found['length']} "
        rule, value = rule + ("characters" if found["kinds"] == "str" else "entries"), len(value)
    elif found["pattern"]:
        rule = f"match {found['pattern']}"
    else:
        rule = "be " + " or ".join(_KINDS.get(kind, kind) for kind in found["kinds"].split(" | "))
    return InvalidInput(found["path"], rule, msgspec.json.encode(value, enc_hook=str).decode()[:80])
