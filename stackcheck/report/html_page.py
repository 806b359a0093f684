"""One HTML page that stands alone: no script, no font, no image, nothing loaded; readable in the dark and on paper.

Everything shown is escaped, links are web addresses only, and a content policy forbids what should not be there anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from stackcheck.model.finding import Finding, FindingEvidence, Remedy, Report, Severity
from stackcheck.report.interface import Options
from stackcheck.report.style import LONGEST_VALUE, SEVERITY_PLURALS, counted, visible
from stackcheck.report.wording import change_lines, link, openable, silence

_CSS = """
:root { color-scheme: light dark; --line: #d0d7de; --dim: #59636e; --error: #cf222e; --warning: #9a6700; --info: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3d444d; --dim: #9198a1; --error: #ff7b72; --warning: #d29922; --info: #58a6ff; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 0; }
article { border: 1px solid var(--line); border-left: .4rem solid var(--line); border-radius: .4rem; padding: .8rem 1rem; margin: 1rem 0; }
article.error { border-left-color: var(--error); } article.warning { border-left-color: var(--warning); }
article.info { border-left-color: var(--info); }
b.error { color: var(--error); } b.warning { color: var(--warning); } b.info { color: var(--info); }
dl { display: grid; grid-template-columns: 5rem 1fr; gap: .3rem .8rem; margin: .6rem 0 0; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { border: 1px solid var(--line); border-radius: .3rem; padding: .4rem .6rem; margin: .3rem 0; }
.dim { color: var(--dim); }
table { border-collapse: collapse; } th, td { border-bottom: 1px solid var(--line); padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } article { break-inside: avoid; } a { color: inherit; } }
"""


def render(report: Report, options: Options) -> str:
    """Return the page; `verbose` adds nothing, everything is there."""
    subject = _text(report.subject, 200) or "node"
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>stackcheck: {subject}</title>",
        f"<style>{_CSS}</style>",
        "</head>",
        "<body>",
        f"<h1>{subject}</h1>",
        f"<p>{_counts(report)}</p>",
        *(line for f in report.findings for line in _article(f)),
        *_accepted(report),
        *_seen(report),
        f'<p class="dim">stackcheck {_text(options.tool_version, 40)}</p>'.replace(" </p>", "</p>"),
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _text(text: str, limit: int = 0) -> str:
    return escape(visible(text, limit))


def _counts(report: Report) -> str:
    parts = [
        f'<b class="{s}">{counted(n, str(s), SEVERITY_PLURALS[s])}</b>'
        for s in Severity
        if (n := report.count(s))
    ]
    if parts and report.doubt:
        return f"{', '.join(parts)}; {_text(report.doubt)}"
    return ", ".join(parts) or _text(silence(report))


def _article(finding: Finding) -> Iterator[str]:
    head = f'<b class="{finding.severity}">{finding.severity}</b> {_text(finding.id)}'
    yield f'<article class="{finding.severity}">'
    yield f"<h2>{head}: {_text(finding.title, LONGEST_VALUE)}</h2>"
    yield "<dl>"
    yield from _row("seen", [_seen_at(e) for e in finding.evidence])
    yield from _row("why", [_text(finding.why)] if finding.why else [])
    yield from _row("impact", [_text(finding.impact)] if finding.impact else [])
    yield from _row("fix", [_fix(r) for r in finding.remedy])
    yield from _row(
        "causes", [f"{_text(c.id)}: {_text(c.title, LONGEST_VALUE)}" for c in finding.consequences]
    )
    yield from _row("sources", [_source(s) for s in finding.sources if openable(s)])
    yield "</dl>"
    yield "</article>"


def _row(word: str, cells: list[str]) -> Iterator[str]:
    if cells:
        yield f"<dt>{word}</dt><dd>{'<br>'.join(cells)}</dd>"


def _seen_at(item: FindingEvidence) -> str:
    place = _text(item.where or item.method, LONGEST_VALUE)
    value = _text(item.value, LONGEST_VALUE)
    where = f' <span class="dim">{place}</span>' if place else ""
    return f"{_text(item.subject, LONGEST_VALUE)} <code>{value}</code>{where}"


def _fix(remedy: Remedy) -> str:
    lines = change_lines(remedy.run, remedy.sets)
    proof = ' <span class="dim">(checked: the finding is gone then)</span>' if remedy.proved else ""
    block = f"<pre>{escape(chr(10).join(lines))}</pre>" if lines else ""
    return f"{_text(remedy.text)}{proof}{block}"


def _source(source: str) -> str:
    shown = _text(source, LONGEST_VALUE)
    return f'<a href="{escape(link(source))}" rel="noreferrer">{shown}</a>' if link(source) else shown


def _accepted(report: Report) -> Iterator[str]:
    if report.accepted:
        yield "<h2>Accepted</h2>"
        yield "<ul>"
        for f in report.accepted:
            yield f"<li>{_text(f.id)}: {_text(f.title, LONGEST_VALUE)} ({_text(f.accepted)})</li>"
        yield "</ul>"


def _seen(report: Report) -> Iterator[str]:
    inventory = report.inventory
    if inventory.notes:
        yield "<h2>Not read</h2>"
        yield "<ul>"
        yield from (f"<li>{_text(f'{n.source}: {n.text}', LONGEST_VALUE)}</li>" for n in inventory.notes)
        yield "</ul>"
    if inventory.components:
        yield "<h2>Components seen</h2>"
        yield "<table>"
        yield "<tr><th>component</th><th>version</th><th>scope</th><th>where</th></tr>"
        for component, observations in sorted(inventory.components.items()):
            for seen in observations:
                cells = (
                    component,
                    seen.version or "unknown",
                    seen.scope,
                    seen.path or seen.evidence.where or seen.evidence.method,
                )
                yield "<tr>" + "".join(f"<td>{_text(c, LONGEST_VALUE)}</td>" for c in cells) + "</tr>"
            if not observations:
                yield f"<tr><td>{_text(component)}</td><td>not there</td><td></td><td></td></tr>"
        yield "</table>"
