"""What can go wrong: one exception type, one catalogue, and how an error is told to people."""

from __future__ import annotations

from . import catalogue
from .catalogue import Kind
from .language import Language, preferred_language
from .problem import Description, FieldError, PyocoError, describe
from .redaction import is_secret_name, redact

__all__ = [
    "Description",
    "FieldError",
    "Kind",
    "Language",
    "PyocoError",
    "catalogue",
    "describe",
    "is_secret_name",
    "preferred_language",
    "redact",
]
