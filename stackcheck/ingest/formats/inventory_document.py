"""Our own inventory (`stackcheck.inventory/1`), as `stackcheck probe --inventory` writes it, alone or in a report (`stackcheck.report/1`)."""

from __future__ import annotations

from typing import Any

from stackcheck.ingest.documents import is_meant_as
from stackcheck.ingest.draft import Draft
from stackcheck.ingest.two_nodes import require_one_node
from stackcheck.model.errors import InputError
from stackcheck.model.finding import SCHEMA as REPORT_SCHEMA
from stackcheck.model.inventory import SCHEMA, Inventory
from stackcheck.model.inventory_json import inventory_from_json

_FAMILY = SCHEMA.partition("/")[0]
_REPORT = REPORT_SCHEMA.partition("/")[0]


def sniff(text: str) -> float:
    """Look for the name of either schema."""
    return 1.0 if _FAMILY in text or _REPORT in text else 0.0


def read(draft: Draft) -> None:
    """Record the inventories in the text, joined; the first names the subject.

    Raises:
        InputError: the text is meant as an inventory and has the wrong shape, or is broken JSON.
    """
    result: Inventory | None = None
    for document in draft.source.documents:
        body = inventory_in(document.value)
        if not isinstance(body, dict) or not str(body.get("schema", "")).startswith(_FAMILY):
            continue
        try:
            found = inventory_from_json(body, where=draft.source.name)
        except RecursionError:
            raise _broken(draft.source.name, "is nested too deeply") from None
        draft.source.claim_range(document.first, document.last)
        if result is None:
            result = found
        else:
            name = draft.source.name
            require_one_node((name, result), (name, found), draft.context)
            result = result.merged(found)
    if result is None:
        if any(is_meant_as(f, draft.source.lines, draft.source.text) for f in (_FAMILY, _REPORT)):
            raise _broken(draft.source.name, _fault(draft.source.text))
    else:
        draft.adopt(result)


def inventory_in(body: Any) -> Any:
    """Return the inventory that a JSON value holds: itself, or that of a report, whose findings are found anew."""
    is_report = isinstance(body, dict) and str(body.get("schema", "")).startswith(_REPORT)
    return body.get("inventory") if is_report else body


def _broken(where: str, what: str) -> InputError:
    return InputError(what, where=where, fix="write it again with `stackcheck probe --inventory`")


def _fault(text: str) -> str:
    import json

    try:
        body = json.loads(text)
    except RecursionError:
        return "is nested too deeply"
    except json.JSONDecodeError as fault:
        return f"is broken JSON (line {fault.lineno}: {fault.msg})"
    except ValueError as fault:
        return f"is broken JSON ({str(fault)[:80]})"
    if inventory_in(body) is not body:
        return "is a report without an inventory"
    return "holds an inventory in a place where none is expected"
