"""Takes secrets out of text before people or logs see it: passwords in URLs, API keys, bearer tokens."""

from __future__ import annotations

import re

MASK = "***"

# Each pattern begins with a fixed text and its parts cannot overlap, so a megabyte of noise costs linear time.
_URL_CREDENTIALS = re.compile(r"://([^\s/?#]*)@")
_API_KEY = re.compile(r"(pyoco_[0-9a-f]{24,64}\.)[A-Za-z0-9_-]{16,256}")
_BEARER = re.compile(r"(\bBearer )[A-Za-z0-9._~+/=-]+", re.IGNORECASE)

_SECRET_NAMES = frozenset(
    {"api_key", "apikey", "x_api_key", "auth_pepper", "authorization", "bearer", "cookie", "passwd", "password"}
    | {"pepper", "secret", "set_cookie", "token"}
)


def redact(text: str) -> str:
    """The same text without the secrets that can be told from their form."""
    if "://" in text:
        text = _URL_CREDENTIALS.sub(_mask_credentials, text)
    if "pyoco_" in text:
        text = _API_KEY.sub(rf"\g<1>{MASK}", text)
    return _BEARER.sub(rf"\g<1>{MASK}", text)


def is_secret_name(name: str) -> bool:
    """Whether a field of this name holds a secret whatever its value looks like."""
    return name.lower().replace("-", "_") in _SECRET_NAMES


def _mask_credentials(match: re.Match[str]) -> str:
    user, colon, _ = match[1].partition(":")
    # Without a colon the whole part may be a token, as in nats://token@host.
    return f"://{user}:{MASK}@" if colon else f"://{MASK}@"
