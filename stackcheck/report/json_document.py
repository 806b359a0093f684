"""The report as `stackcheck.report/1`, schema in matrices/schema/report.schema.json."""

from __future__ import annotations

import json

from stackcheck.model.finding import Report, report_to_json
from stackcheck.report.interface import Options


class Json:
    """One JSON document; ASCII alone, so that no observed escape sequence reaches a terminal."""

    name = "json"
    title = "for programs: one JSON document with inventory, findings and summary"
    suffix = ".json"

    def render(self, report: Report, options: Options) -> str:  # noqa: ARG002 - the interface's signature
        """Return the document, indented by two spaces."""
        return json.dumps(report_to_json(report), indent=2) + "\n"
