"""Components for programs: a row of the list, and one with its releases, builds and requirements."""

from __future__ import annotations

from typing import Any

from stackcheck.model.demand import ComponentView, RowReleases
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Component, Gpu, Release, Requirement
from stackcheck.model.sourcing import sources_of
from stackcheck.report.sources_text import source_to_json
from stackcheck.report.values_text import attributes_json


def component_to_json(view: ComponentView) -> dict[str, Any]:
    """Return the JSON object of a component with all listed releases in full."""
    component, gpu = view.component, view.gpu
    on_gpu = {} if gpu is None else {"gpu": gpu.id, "on_gpu": [_on_gpu_to_json(gpu, r) for r in view.on_gpu]}
    return {
        **on_gpu,
        **component_row_to_json(component),
        "scheme": component.scheme,
        "description": component.description,
        "aliases": list(component.aliases),
        "packages": list(component.packages),
        "releases": [_release_to_json(component, r) for r in view.releases],
        "required_by": [
            {
                "component": r.component,
                "version": r.version,
                "build": r.build or None,
                "range": r.range,
                "extra": r.extra or None,
                "releases": r.releases,
            }
            for r in view.required_by
        ],
        "brought_by": [
            {"component": b.component, "version": b.version, "brings": b.brings, "releases": b.releases}
            for b in view.brought_by
        ],
    }


def _on_gpu_to_json(gpu: Gpu, told: RowReleases) -> dict[str, Any]:
    row = told.row
    return {
        "range": row.range if row else None,
        "grade": row.grade if row else str(Grade.UNKNOWN),
        "why": row.why if row else None,
        "releases": [r.version.text for r in told.releases],
        "sources": [source_to_json(s) for s in sources_of(gpu.sources, row.sources)] if row else [],
    }


def component_row_to_json(component: Component) -> dict[str, Any]:
    """Return the JSON object of a component in a list."""
    newest = component.releases[-1] if component.releases else None
    return {
        "id": component.id,
        "name": component.name,
        "layer": component.layer,
        "scope": component.scope,
        "known_releases": len(component.releases),
        "newest": newest.version.text if newest else None,
        "newest_date": (newest.date or None) if newest else None,
    }


def _release_to_json(component: Component, release: Release) -> dict[str, Any]:
    return {
        "version": release.version.text,
        "date": release.date or None,
        "end_of_life": release.eol or None,
        "yanked": release.yanked,
        "prerelease": release.prerelease,
        "attributes": attributes_json(release.attributes),
        "requires": None if release.requires is None else [_asked_to_json(r) for r in release.requires],
        "bundles": dict(release.bundles or {}),
        "builds": [
            {
                "label": b.label,
                "arch": list(b.arch),
                "default": b.default,
                "exists": b.exists,
                "attributes": attributes_json(b.attributes),
                "requires": [_asked_to_json(r) for r in b.requires],
            }
            for b in release.builds
        ],
        "notes": list(release.notes),
        "sources": [
            source_to_json(s) for s in sources_of(component.sources, release.sources, component.read)
        ],
    }


def _asked_to_json(asked: Requirement) -> dict[str, Any]:
    body: dict[str, Any] = {"component": asked.component, "range": asked.range}
    if asked.extra:
        body["extra"] = asked.extra
    if asked.python:
        body["python"] = asked.python
    if asked.arch:
        body["arch"] = list(asked.arch)
    if asked.optional:
        body["optional"] = True
    return body
