"""A registry of the distribution specification (v2): tags, manifests and blobs, with anonymous tokens where it asks for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlencode, urljoin, urlsplit

from stackcheck.harvest import oci_documents as oci
from stackcheck.harvest.client import Answer, Client, shown
from stackcheck.harvest.image_reference import Reference
from stackcheck.harvest.interface import HarvestError

EXTRACTOR = "oci-registry/1"
_PAGES: Final = 200
_PARAMETER = re.compile(r'([a-zA-Z_]+)="([^"]{0,2000})"')
_UNAUTHORISED = frozenset({401})
_LOCAL = ("127.0.0.1", "localhost", "::1")


class Registry:
    """One registry, asked through a client. `token` is a bearer token that the user gave, e.g. of a private registry."""

    def __init__(self, client: Client, host: str, *, token: str = "", plain: bool | None = None) -> None:
        """Ask `host` over https; over http only on loopback, or if `plain` says so."""
        local = urlsplit(f"//{host}").hostname in _LOCAL
        self._base = f"{'http' if (local if plain is None else plain) else 'https'}://{host}"
        self._client = client
        self._given = token
        self._tokens: dict[str, str] = {}

    def tags(self, repository: str) -> tuple[str, ...]:
        """Return all tags of a repository, in the registry's order.

        Raises:
            HarvestError: the registry refuses, or its pages never end.
        """
        url = f"{self._base}/v2/{repository}/tags/list?n=1000"
        found: list[str] = []
        for _ in range(_PAGES):
            answer = self._get(url, repository, accept="application/json", most=16_000_000)
            try:
                body = json.loads(answer.body)
            except (ValueError, RecursionError) as fault:
                raise HarvestError(f"no JSON: {fault}", where=shown(url)) from fault
            tags = body.get("tags") if isinstance(body, dict) else None
            found += [t for t in tags or () if isinstance(t, str) and len(t) <= 128]
            following = _next(answer.headers.get("link", ""))
            if not following:
                return tuple(dict.fromkeys(found))
            target = urljoin(url, following)
            if urlsplit(target).netloc != urlsplit(url).netloc:
                raise HarvestError("sends to another host for the next page", where=shown(url))
            url = target
        raise HarvestError("its list of tags does not end", where=shown(url))

    def images(self, reference: Reference) -> tuple[tuple[str, str, oci.Manifest], ...]:
        """Return (architecture, digest, manifest) for every Linux image behind a reference.

        The architecture is empty where only the configuration tells it.

        Raises:
            HarvestError: something is not there, malformed, or not what its digest says.
        """
        digest, body = self._manifest(reference.repository, reference.digest or reference.tag)
        if not oci.is_index(body):
            return (("", digest, oci.manifest(body, str(reference))),)
        found = []
        for row in oci.index(body, str(reference)):
            _, inner = self._manifest(reference.repository, row.digest)
            found.append((row.arch, row.digest, oci.manifest(inner, str(reference))))
        return tuple(found)

    def _manifest(self, repository: str, name: str) -> tuple[str, dict[str, object]]:
        url = f"{self._base}/v2/{repository}/manifests/{name}"
        answer = self._get(
            url, repository, accept=oci.ACCEPT, most=oci.LARGEST, lasting=name.startswith("sha256:")
        )
        actual = oci.digest_of(answer.body)
        claimed = name if name.startswith("sha256:") else answer.headers.get("docker-content-digest", actual)
        oci.verified(answer.body, claimed, shown(url))
        return actual, oci.document(answer.body, shown(url))

    def blob(self, repository: str, wanted: oci.Descriptor, most: int) -> bytes:
        """Return the bytes of a blob that is small enough to be held.

        Raises:
            HarvestError: it is larger, or not what its digest says.
        """
        if wanted.size > most:
            raise HarvestError(f"blob of {wanted.size} bytes", where=repository)
        url = f"{self._base}/v2/{repository}/blobs/{wanted.digest}"
        answer = self._get(url, repository, most=max(wanted.size, 1), lasting=True, elsewhere=True)
        return oci.verified(answer.body, wanted.digest, shown(url))

    def stream(self, repository: str, wanted: oci.Descriptor) -> Iterator[bytes]:
        """Yield the bytes of a blob; the last step raises if they are not those of its digest.

        Raises:
            HarvestError: as soon as more bytes arrive than stated, or when the digest is wrong.
        """
        url = f"{self._base}/v2/{repository}/blobs/{wanted.digest}"
        yield from self._client.stream(
            url, headers=self._authorisation(repository), size=wanted.size, digest=wanted.digest
        )

    def _authorisation(self, repository: str) -> dict[str, str]:
        token = self._given or self._tokens.get(repository, "")
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _get(
        self,
        url: str,
        repository: str,
        *,
        most: int,
        accept: str = "*/*",
        lasting: bool = False,
        elsewhere: bool = False,
    ) -> Answer:
        def ask(tolerate: frozenset[int]) -> Answer:
            return self._client.get(
                url,
                accept=accept,
                headers=self._authorisation(repository),
                most=most,
                lasting=lasting,
                elsewhere=elsewhere,
                tolerate=tolerate,
            )

        answer = ask(_UNAUTHORISED if not self._authorisation(repository) else frozenset())
        if answer.status not in _UNAUTHORISED:
            return answer
        self._tokens[repository] = self._anonymous(
            answer.headers.get("www-authenticate", ""), repository, url
        )
        return ask(frozenset())

    def _anonymous(self, challenge: str, repository: str, url: str) -> str:
        """Return a token for reading, from where the registry says that tokens are given."""
        scheme, _, rest = challenge.partition(" ")
        told = {k.lower(): v for k, v in _PARAMETER.findall(rest[:8_000])}
        realm = told.get("realm", "")
        secure = urlsplit(realm).scheme == "https" or urlsplit(realm).hostname in _LOCAL
        if scheme.lower() != "bearer" or not realm or not secure:
            raise HarvestError(
                "asks for credentials (401)", where=shown(url), fix="give a token: --token-file FILE"
            )
        query = {"scope": f"repository:{repository}:pull"}
        if told.get("service"):
            query["service"] = told["service"]
        separator = "&" if urlsplit(realm).query else "?"
        answer = self._client.get(f"{realm}{separator}{urlencode(query)}", most=100_000, conditional=False)
        try:
            body = json.loads(answer.body)
            token = body.get("token") or body.get("access_token")
        except (ValueError, RecursionError, AttributeError) as fault:
            raise HarvestError(f"its token is no JSON: {fault}", where=shown(realm)) from fault
        if not isinstance(token, str) or not token or len(token) > 20_000 or not token.isprintable():
            raise HarvestError(
                "gives no anonymous token", where=shown(realm), fix="give a token: --token-file FILE"
            )
        return token


def _next(link: str) -> str:
    match = re.match(r'\s*<([^>]{1,4000})>\s*;\s*rel="?next"?', link)
    return match[1] if match else ""
