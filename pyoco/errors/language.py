"""Chooses the language of a message from an Accept-Language header."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["en", "ja"]

_WEIGHT = re.compile(r"q\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)", re.IGNORECASE)


def preferred_language(header: str | None) -> Language:
    """Japanese only if the header weighs it above English; a header that cannot be read counts as none."""
    weights = _weights(header or "")
    anything = weights.get("*", 0.0)
    return "ja" if weights.get("ja", anything) > weights.get("en", anything) else "en"


def _weights(header: str) -> dict[str, float]:
    """Primary language to its highest weight: `ja-JP` speaks for `ja`."""
    weights: dict[str, float] = {}
    for part in header.split(","):
        tag, *parameters = (piece.strip() for piece in part.split(";"))
        weight = _weight(parameters)
        if tag and weight is not None:
            primary = tag.split("-")[0].lower()
            weights[primary] = max(weight, weights.get(primary, 0.0))
    return weights


def _weight(parameters: list[str]) -> float | None:
    """None if the weight is malformed: its language is then as good as not named."""
    if not parameters:
        return 1.0
    match = _WEIGHT.fullmatch(parameters[0])
    return float(match[1]) if match and len(parameters) == 1 else None
