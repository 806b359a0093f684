"""Fields as a request, and ways out of a conflict written back into the fields."""

from __future__ import annotations

import pytest

from stackcheck.model.errors import UsageError
from stackcheck.model.stack import Change
from stackcheck_tui.app import _has_browser
from stackcheck_tui.form import Form, request_of, with_change, words

INSTANCES = ("p5.48xlarge",)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("vllm torch==2.11.0", ["vllm", "torch==2.11.0"]),
        ("cuda>=13,<14 driver==580.*", ["cuda>=13,<14", "driver==580.*"]),
        ("torch == 2.11.0", ["torch == 2.11.0"]),
        ("verl[vllm] ; nccl", ["verl[vllm]", "nccl"]),
        ("torch, vllm", ["torch", "vllm"]),
    ],
)
def test_a_field_holds_several_requirements(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_fields_become_a_request() -> None:
    form = Form(
        target=" P5.48xlarge ", frameworks="vllm", pins="cuda>=13", without="flash-attn", policy="stable"
    )
    request = request_of(form, INSTANCES)
    assert (request.gpu, request.instance, request.policy) == ("", "p5.48xlarge", "stable")
    assert [w.text for w in request.frameworks] == ["vllm"]
    assert [(w.text, w.flag, w.absent) for w in request.wishes] == [
        ("cuda>=13", "--with", False),
        ("flash-attn", "--without", True),
    ]
    assert request_of(Form(target="b200"), INSTANCES).gpu == "b200"


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(UsageError, match="requirement"):
        request_of(Form(pins="=="), INSTANCES)


def test_a_way_out_replaces_or_drops_what_it_names_and_nothing_else() -> None:
    form = Form(frameworks="torch==2.6.0 vllm", pins="torch==2.6.0")
    changed = with_change(form, Change("--framework torch==2.6.0", "torch==2.9.1+cu130"))
    assert changed.frameworks == "torch==2.9.1+cu130 vllm"
    assert changed.pins == "torch==2.6.0"
    dropped = with_change(form, Change("--with torch==2.6.0", "leave torch out"))
    assert dropped.pins == ""
    assert dropped.frameworks == form.frameworks


@pytest.mark.parametrize(
    ("environment", "opens"),
    [
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True),
        ({"DISPLAY": ":10", "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, False),
        ({}, False),
    ],
)
def test_a_browser_is_opened_only_where_it_comes_up_beside_the_terminal(
    environment: dict[str, str],
    opens: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert _has_browser(environment) is opens
