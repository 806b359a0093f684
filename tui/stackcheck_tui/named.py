"""The command palette's way to everything that has a name: GPUs, instance types, components, families of images and images."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from textual.command import Hit, Hits, Provider

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.image_age import days, newest_first
from stackcheck.model.errors import StackcheckError

_MOST = 8  # of one kind that are offered at once; another word narrows them


@dataclass(frozen=True, slots=True)
class Named:
    """One thing with a name, what is done with it, and where one sees it."""

    name: str
    title: str
    note: str
    page: str
    subject: Any
    text: str
    """In what a search looks, in lower case."""


def everything(catalog: Catalog) -> tuple[tuple[Named, ...], ...]:
    """Return by kind everything that has a name; reads every file."""
    from stackcheck.solver.image_search import Query
    from stackcheck_tui.form import Form

    def named(name: str, what: str, note: str, page: str, subject: Any, more: Iterable[str] = ()) -> Named:
        text = " ".join((name, what, note, *more)).lower()
        return Named(name, f"{name} · {what}", note, page, subject, text)

    gpus = catalog.gpus()
    names = {g.id: g.name for g in gpus}
    images = [catalog.images[p] for p in newest_first(catalog.images, days(catalog, catalog.images))]
    families = dict.fromkeys(i.family for i in catalog.images)
    return (
        tuple(
            named(g.id, "what runs on it", g.name, "matrix", ("torch", "gpu", "", g.id), g.aliases)
            for g in gpus
        ),
        tuple(named(g.id, "a stack for it", g.name, "resolve", Form(target=g.id), g.aliases) for g in gpus),
        tuple(
            named(i.id, "a stack for it", names.get(i.gpu, i.gpu), "resolve", Form(target=i.id), i.aliases)
            for i in catalog.instances()
        ),
        tuple(
            named(c.id, "component", c.description or c.name, "components", (c.id, ""), (c.name, *c.aliases))
            for c in catalog.components()
        ),
        tuple(named(f, "images", f"All {f} images", "images", (Query(family=f), "")) for f in families),
        tuple(
            named(
                f"{i.repository.rpartition('/')[2]}:{i.tag}",
                "image",
                i.name,
                "images",
                (Query(), i.name),
                (i.family,),
            )
            for i in images
        ),
    )


def found(kinds: Sequence[Sequence[Named]], query: str) -> list[Named]:
    """Return what has all words of a query, of each kind the first few; a name that begins with the query goes before others."""
    words = query.lower().split()
    hits: list[Named] = []
    for kind in kinds:
        fitting = [n for n in kind if all(w in n.text for w in words)]
        fitting.sort(key=lambda n: (n.name.lower() != words[0], not n.name.lower().startswith(words[0])))
        hits += fitting[:_MOST]
    return hits


class NamedProvider(Provider):
    """Finds things by name; the catalog is read, and looked through, in a thread."""

    async def search(self, query: str) -> Hits:
        """Offer what has the words of the query."""
        from stackcheck_tui.app import StackcheckApp

        app = cast("StackcheckApp", self.app)
        if not query.split():
            return
        try:
            hits = await asyncio.to_thread(app.desk.named, query)
        except StackcheckError:
            return  # the screens tell what is wrong with the data
        matcher = self.matcher(query)
        for hit in hits:
            go: Callable[[], None] = partial(app.go, hit.page, hit.subject)
            yield Hit(
                max(matcher.match(hit.title), 1.0), matcher.highlight(hit.title), go, hit.title, hit.note
            )
