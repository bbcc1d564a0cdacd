"""What msgspec objects to in a request, as parameter, rule and value."""

import re
from typing import Any

import msgspec

from longrank.errors import InvalidInput, plural, unknown

_AT = re.compile(r" - at `\$\.?([^`]+)`$")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `([^`]+)`")
_EXPECTED = re.compile(
    r"Expected `(?P<kinds>[^`]+)`"
    r"(?: (?P<sign>[<>]=?) (?P<limit>\S+)| of length (?P<bound>[<>]=)? ?(?P<length>\d+)"
    r"| matching regex '(?P<pattern>.+)')?(?:, got `[^`]+`)?(?: - at .+)?"
)
_CHOICE = re.compile(r"Invalid enum value (?P<value>.+) - at `\$\.(?P<path>\w+)`")
_STEP = re.compile(r"([^.\[\]]+)")
_KINDS = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false",
    "bytes": "base64", "array": "a list", "object": "an object", "null": "null",
}  # fmt: skip
_NAME = re.compile(r"\^\[A-Za-z0-9\]\[A-Za-z0-9([^\]]+)\]\{0,(\d+)\}\$")
_SIGNS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}


def explain(error: msgspec.ValidationError, value: Any, kind: type) -> InvalidInput:
    """Return the parameter, the rule that it breaks and its value.

    ``value`` is what was converted to a ``kind``; None where it is not known.
    """
    sentence = str(error)
    at = _AT.search(sentence)
    path = at[1] if at else ""
    if field := _FIELD.match(sentence):
        where = f"{path}.{field[2]}" if path else field[2]
        if field[1] == "missing required":
            return InvalidInput(where, "be given", "nothing")
        names = [] if path else [known.encode_name for known in msgspec.structs.fields(kind)]
        hint = unknown(field[2], names).partition("; ")[2]
        sentence = f"{where} is not a field of this request" + (f" ({hint})" if hint else "")
        return InvalidInput(where, "be a field of this request", repr(field[2]), sentence)
    if choice := _CHOICE.fullmatch(sentence):
        for parameter in msgspec.structs.fields(kind):
            values = getattr(msgspec.inspect.type_info(parameter.type), "values", None)
            if parameter.encode_name == choice["path"] and values:
                return InvalidInput(
                    path, f"be one of {', '.join(map(str, values))}", choice["value"]
                )
    if sentence.startswith("Number out of range"):
        return InvalidInput(path or "body", "be a number of at most 64 bits", "a larger one")
    expected = _EXPECTED.fullmatch(sentence)
    try:
        for step in _STEP.findall(path):
            value = value[int(step) if isinstance(value, list | tuple) else step]
    except (KeyError, IndexError, ValueError, TypeError):  # of any value of a dictionary
        expected = None
    if expected is None:
        return InvalidInput(path or "body", "be valid", f"an invalid value: {error}")
    rule, number = _rule(expected), expected["length"]
    shown = len(value) if number else msgspec.json.encode(value, enc_hook=str).decode()[:80]
    return InvalidInput(path or "body", rule, shown)


def _rule(expected: re.Match[str]) -> str:
    if expected["sign"]:
        return f"be {_SIGNS[expected['sign']]} {float(expected['limit']):.10g}"
    if expected["length"]:
        bound = f"{_SIGNS[expected['bound']]} " if expected["bound"] else ""
        what = "character" if expected["kinds"] == "str" else "element"
        return f"have {bound}{plural(int(expected['length']), what)}"
    if expected["pattern"]:
        return in_words(expected["pattern"])
    kinds = " or ".join(_KINDS.get(kind, kind) for kind in expected["kinds"].split(" | "))
    return f"be {kinds.replace(' or ', ', ', kinds.count(' or ') - 1)}"


def in_words(pattern: str) -> str:
    """Return the rule of a pattern, in words where it is one of names."""
    name = _NAME.fullmatch(pattern)
    if name is None:
        return f"match {pattern}"
    signs, length = ", ".join(map(repr, name[1])), int(name[2]) + 1
    return f"be letters, digits, {signs}, at most {length}, beginning with a letter or digit"
