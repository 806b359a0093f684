"""Trying the best few images first gives the answer that all of them would give."""

from __future__ import annotations

import pytest

from stackcheck.catalog import open_catalog
from stackcheck.catalog.catalog import Catalog
from stackcheck.solver import resolve as module
from stackcheck.solver.request import Request, Wish


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return open_catalog(environ={})


REQUESTS = [
    *(Request(gpu=g) for g in ("a100", "b200", "b300", "gb200", "gh200", "h100", "l40s", "rtx-pro-6000")),
    *(Request(gpu="", instance=i) for i in ("p4d.24xlarge", "p5en.48xlarge", "p6e-gb200.36xlarge")),
    *(
        Request(gpu="h100", frameworks=(Wish(component=f),))
        for f in ("vllm", "sglang", "megatron-core", "deepspeed", "tensorrt-llm")
    ),
    Request(gpu="h100", host=(Wish(component="driver", range="==550.163.01", flag="--host"),)),
    Request(gpu="h100", images="ngc", policy="stable"),
    Request(gpu="h200", images="dlc", policy="tested", python="3.11"),
    Request(gpu="b200", wishes=(Wish(component="torch", range="==2.9.1"),)),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_same_answer(catalog: Catalog, request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    short = module.resolve(catalog, request_)
    monkeypatch.setattr(module, "FEW_IMAGES", 10**9)
    whole = module.resolve(catalog, request_)
    assert (short.image and short.image.tag) == (whole.image and whole.image.tag)
    assert {p.component: p.version for p in short.pins} == {p.component: p.version for p in whole.pins}
    assert short.solved == whole.solved
