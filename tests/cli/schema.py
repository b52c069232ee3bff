"""The part of JSON Schema that docs/reference/json-schema.json is written in."""

import json
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
SAYS_NOTHING = {"$schema", "$defs", "title", "description"}


def is_of(value, kind):
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


class Schema:
    def __init__(self, path):
        self.root = json.loads(path.read_text())

    def problems(self, value, name):
        """What is wrong with a value of $defs/NAME; empty: nothing."""
        return list(self._check(value, self.root["$defs"][name], name))

    def _check(self, value, schema, place):
        for key, rule in schema.items():
            if key not in SAYS_NOTHING:
                yield from getattr(self, "_" + key.replace("$", "").lower())(value, rule, place, schema)

    def _ref(self, value, rule, place, _):
        yield from self._check(value, self.root["$defs"][rule.rsplit("/", 1)[1]], place)

    def _type(self, value, rule, place, _):
        if not is_of(value, rule):
            yield f"{place}: {value!r} is no {rule}"

    def _enum(self, value, rule, place, _):
        if value not in rule:
            yield f"{place}: {value!r} is not among {rule}"

    def _anyof(self, value, rule, place, _):
        found = [list(self._check(value, each, place)) for each in rule]
        if all(found):
            yield f"{place}: fits none: {found}"

    def _minimum(self, value, rule, place, _):
        if is_of(value, "number") and value < rule:
            yield f"{place}: {value} is below {rule}"

    def _maximum(self, value, rule, place, _):
        if is_of(value, "number") and value > rule:
            yield f"{place}: {value} is above {rule}"

    def _pattern(self, value, rule, place, _):
        if isinstance(value, str) and not re.search(rule, value):
            yield f"{place}: {value!r} does not match {rule}"

    def _minitems(self, value, rule, place, _):
        if isinstance(value, list) and len(value) < rule:
            yield f"{place}: fewer than {rule} elements"

    def _items(self, value, rule, place, _):
        for i, each in enumerate(value if isinstance(value, list) else ()):
            yield from self._check(each, rule, f"{place}[{i}]")

    def _required(self, value, rule, place, _):
        for key in rule:
            if isinstance(value, dict) and key not in value:
                yield f"{place}: no key {key!r}"

    def _properties(self, value, rule, place, _):
        for key, each in rule.items():
            if isinstance(value, dict) and key in value:
                yield from self._check(value[key], each, f"{place}.{key}")

    def _additionalproperties(self, value, rule, place, schema):
        for key in value if isinstance(value, dict) else ():
            if key in schema.get("properties", {}):
                continue
            if rule is False:
                yield f"{place}: unknown key {key!r}"
            else:
                yield from self._check(value[key], rule, f"{place}.{key}")
