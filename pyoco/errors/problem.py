"""The one exception type of gateway, worker and command line, and how it is told."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from .catalogue import INTERNAL_ERROR, Kind
from .language import Language
from .redaction import redact


class FieldError(TypedDict):
    """One thing that is wrong in a request, as a 422 answer lists it."""

    loc: list[str | int]
    msg: str
    type: str


class PyocoError(Exception):
    """A catalogue entry that happened. `reason` says in English what exactly was wrong, `values` fill the text."""

    def __init__(
        self,
        kind: Kind,
        reason: str = "",
        *,
        errors: Sequence[FieldError] = (),
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
        **values: object,
    ) -> None:
        self.kind = kind
        self.reason = reason
        self.errors = tuple(errors)
        self.details = dict(details or {})
        self.retry_after = retry_after
        self.values = values
        super().__init__(_message(self, "en"))


@dataclass(frozen=True, slots=True)
class Description:
    """Everything a surface needs to render an error in its own shape; holds no secret and no stack trace."""

    code: str
    status: int
    message: str
    detail: str
    err_id: str
    msg_id: str
    errors: tuple[FieldError, ...]
    details: dict[str, Any]
    retry_after: float | None


def describe(error: BaseException, language: Language = "en") -> Description:
    """How an error is told. Whatever is not a PyocoError tells nothing of itself: INTERNAL_ERROR."""
    told = error if isinstance(error, PyocoError) else PyocoError(INTERNAL_ERROR)
    kind = told.kind
    return Description(
        code=kind.code,
        # What was never meant for HTTP but got there is a mistake of ours.
        status=kind.status or 500,
        message=_message(told, language),
        detail=kind.detail,
        err_id=kind.err_id,
        msg_id=kind.msg_id,
        errors=told.errors,
        details=told.details,
        retry_after=told.retry_after,
    )


class _Values(dict[str, object]):
    """A value that nobody gave must not turn one error into another."""

    def __missing__(self, key: str) -> str:
        return "?"


def _message(error: PyocoError, language: Language) -> str:
    text = error.kind.text
    template = text.japanese if language == "ja" else text.english
    reason = error.reason or _first_of(error.errors)
    message = string.Formatter().vformat(template, (), _Values(error.values, reason=reason or "?"))
    if reason and "{reason}" not in template:
        message = f"{message}: {reason}"
    return redact(message)


def _first_of(errors: tuple[FieldError, ...]) -> str:
    if not errors:
        return ""
    place = ".".join(str(step) for step in errors[0]["loc"])
    first = f"{place}: {errors[0]['msg']}" if place else errors[0]["msg"]
    return first if len(errors) == 1 else f"{first} (and {len(errors) - 1} more)"
