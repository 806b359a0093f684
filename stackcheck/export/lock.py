"""The lock: a stack as `stackcheck.stack/1`, schema in matrices/schema/stack.schema.json."""

from __future__ import annotations

import json

from stackcheck.model.stack import Stack
from stackcheck.model.stack_json import stack_to_json


def render(stack: Stack) -> str:
    """Return the document; ASCII alone, whatever a hand-edited lock held."""
    return json.dumps(stack_to_json(stack), indent=2, sort_keys=True) + "\n"
