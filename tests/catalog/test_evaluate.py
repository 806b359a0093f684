"""Three-valued truth: what was not observed neither fires a rule nor excuses one."""

from __future__ import annotations

from typing import Any

import pytest

from stackcheck.catalog.evaluate import Missing, fires, truth
from stackcheck.catalog.parse_rule import condition, rule
from stackcheck.model.errors import MatrixError
from stackcheck.model.version import Version


class Facts:
    """A view over a plain dictionary; a missing key is unknown, None is absent."""

    def __init__(self, **known: Any) -> None:
        self.known = {k.replace("__", ":").replace("_dot_", "."): v for k, v in known.items()}

    def value(self, subject: str) -> Any:
        found = self.known.get(subject, Missing.UNKNOWN)
        return Missing.ABSENT if found is None else found


def holds(body: Any, **known: Any) -> bool | None:
    return truth(condition(body, "test"), Facts(**known))


@pytest.mark.parametrize(
    ("body", "known", "expected"),
    [
        ({"nccl": ">=2.19,<2.21"}, {"nccl": Version("2.20.5")}, True),
        ({"nccl": ">=2.19,<2.21"}, {"nccl": Version("2.21.5")}, False),
        ({"nccl": ">=2.19"}, {}, None),
        ({"nccl": ">=2.19"}, {"nccl": None}, None),  # a range on something absent is unknown
        ({"nccl": True}, {"nccl": Version("2.0")}, True),
        ({"nccl": True}, {"nccl": None}, False),
        ({"nccl": False}, {"nccl": None}, True),
        ({"nccl": False}, {}, None),  # nobody looked: absence is not known
        ({"gpu": ["h100", "h200"]}, {"gpu": "h200"}, True),
        ({"env:NCCL_PROTO": "simple"}, {"env__NCCL_PROTO": "Simple"}, False),
        ({"env:NCCL_PROTO": {"matches": "(?i)^simple$"}}, {"env__NCCL_PROTO": "Simple"}, True),
        ({"fact:memlock_kb": {"max": 65536}}, {"fact__memlock_kb": 64}, True),
        ({"fact:memlock_kb": {"below": 64}}, {"fact__memlock_kb": 64}, False),
        ({"fact:xid": {"min": 79, "max": 79}}, {"fact__xid": (31, 79)}, True),  # any member of a list
        ({"fact:gdr": True}, {"fact__gdr": False}, False),
        ({"fact:gdr": False}, {"fact__gdr": False}, True),
        ({"a": {"not": ">=2"}}, {"a": Version("1.0")}, True),
        ({"a": {"not": ">=2"}}, {}, None),
        ({"any": [{"a": True}, {"b": True}]}, {"b": 1}, True),
        ({"any": [{"a": True}, {"b": ">=2"}]}, {"a": None}, None),
        ({"all": [{"a": True}, {"b": ">=2"}]}, {"a": None}, False),
        ({"not": {"a": True}}, {}, None),
        ({"relation": "equal", "left": "a", "right": "b"}, {"a": Version("1.0"), "b": Version("1.0")}, True),
        ({"relation": "equal", "left": "a", "right": "b"}, {"a": Version("1.0")}, None),
    ],
)
def test_condition(body: Any, known: dict[str, Any], expected: bool | None) -> None:
    assert holds(body, **known) is expected


def a_rule(**parts: Any) -> Any:
    row = {
        "id": "r",
        "kind": "config",
        "severity": "error",
        "subjects": ["a"],
        "title": "t",
        "sources": [],
        **parts,
    }
    return rule(row, {}, "test")


def test_a_rule_fires_when_its_requirement_is_false() -> None:
    floor = a_rule(when={"a": True, "b": True}, require={"relation": "at_least", "left": "a", "right": "b"})
    assert fires(floor, Facts(a=Version("1.0"), b=Version("2.0")))
    assert not fires(floor, Facts(a=Version("2.0"), b=Version("2.0")))
    assert not fires(floor, Facts(a=Version("1.0")))  # b unknown: silent


def test_an_unknown_excuse_excuses_nothing_and_a_true_one_does() -> None:
    excused = a_rule(when={"a": True}, unless={"compat": True})
    assert fires(excused, Facts(a=Version("1.0")))
    assert fires(excused, Facts(a=Version("1.0"), compat=None))
    assert not fires(excused, Facts(a=Version("1.0"), compat=Version("13.0")))


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "test"),
        ({"any": []}, "test/any"),
        ({"any": [{"a": {"frob": 1}}]}, "test/any/0/a"),
        ({"relation": "near", "left": "a", "right": "b"}, "test/relation"),
        ({"relation": "equal", "left": "a"}, "test"),
        ({"a": {}}, "test/a"),
        ({"a": None}, "test/a"),
        ({"a": {"not": {"not": {"oops": 1}}}}, "test/a/not/not"),
    ],
)
def test_malformed_conditions_name_their_pointer(body: Any, pointer: str) -> None:
    with pytest.raises(MatrixError) as caught:
        condition(body, "test")
    assert caught.value.where == pointer
