"""Writes docs/errors.md from the catalogue: `python -m pyoco.errors.document > docs/errors.md`."""

from __future__ import annotations

import sys

from .catalogue import CATALOGUE, Kind

_HEAD = """\
# Errors

<!-- Written by `python -m pyoco.errors.document`; change the catalogue, not this page. -->

Every error has a stable `code`, an id for support (`ERR-PYOCO-…`, in answers `err_id`) and an id for its text
(`MSG-PYOCO-…`, the same number). Programs should look at `code` and the HTTP status; `detail` is what clients of v0
read. `message` is Japanese if `Accept-Language` prefers `ja` over `en`, else English; after the text here it may say
what exactly was wrong. On `/pdca` and `/gui`, INVALID is answered as 400 BAD_REQUEST.

Ids up to 0024 come from the v0 documents; ours begin at 0025.
"""


def page() -> str:
    kinds = sorted(CATALOGUE.values(), key=lambda kind: kind.number)
    answers = [kind for kind in kinds if kind.status is not None]
    elsewhere = [kind for kind in kinds if kind.status is None]
    return "\n".join(
        [
            _HEAD,
            "## Answers of the HTTP API",
            "",
            *_table(answers),
            "",
            "## In logs, in the dead letter queue and on the command line",
            "",
            *_table(elsewhere),
            "",
        ]
    )


def _table(kinds: list[Kind]) -> list[str]:
    rows = ["| id | HTTP | code | `detail` | message | what to do |", "|---|---|---|---|---|---|"]
    for kind in kinds:
        text = kind.text
        rows.append(
            f"| {kind.err_id} | {kind.status or '–'} | {kind.code} | {kind.detail} "
            f"| {text.english}<br>{text.japanese} | {text.action} |"
        )
    return rows


if __name__ == "__main__":
    sys.stdout.write(page())
