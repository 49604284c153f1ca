"""The kinds of values a setting can have: how their text is read and, in words, what is allowed."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

# Ten years: far beyond any use, and safe as nanoseconds in 64 bits.
_LONGEST = 315_360_000
_LARGEST = 2**63 - 1
_ON = frozenset({"1", "true", "yes", "on"})
_OFF = frozenset({"0", "false", "no", "off"})
_NATS_SCHEMES = ("nats", "tls", "ws", "wss")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a value may be, in words that fit after "must be"."""

    text: str
    secret: bool = False


def _read_switch(value: object) -> object:
    text = str(value).strip().lower()
    if text in _ON | _OFF:
        return text in _ON
    raise ValueError("not a switch")


def _read_list(value: object) -> object:
    """Text is split at commas; blank entries do not count."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _read_upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def _read_lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _read_auth_modes(value: object) -> object:
    modes = _read_list(_read_lower(value))
    return () if modes == ("none",) else modes


def _matching(pattern: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError("wrong form")
        return text

    return check


def _check_nats_url(text: str) -> str:
    urls = [part.strip() for part in text.split(",")]
    urls = [url if "://" in url else f"nats://{url}" for url in urls]
    parts = [urlsplit(url) for url in urls]
    for part in parts:
        # Reading the port is what makes urlsplit check it.
        if part.scheme not in _NATS_SCHEMES or not part.hostname or part.port == 0:
            raise ValueError("not the address of a NATS server")
    if len({part.scheme.startswith("ws") for part in parts}) > 1:
        raise ValueError("WebSocket and plain addresses do not mix")
    return ",".join(urls)


def _check_http_url(text: str) -> str:
    part = urlsplit(text)
    if part.scheme not in ("http", "https") or not part.hostname or part.port == 0:
        raise ValueError("not an HTTP address")
    return text.rstrip("/")


def _check_path(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("not a path")
    return path


def _check_network(text: str) -> str:
    return str(ipaddress.ip_network(text, strict=False))


Switch = Annotated[bool, BeforeValidator(_read_switch), Allowed("1 or 0 (also true/false, yes/no, on/off)")]

Seconds = Annotated[float, Field(gt=0, le=_LONGEST, allow_inf_nan=False), Allowed("a number of seconds above 0")]
SecondsOrZero = Annotated[
    float, Field(ge=0, le=_LONGEST, allow_inf_nan=False), Allowed("a number of seconds, 0 or more")
]
Count = Annotated[int, Field(ge=1, le=1_000_000), Allowed("a whole number from 1 to 1000000")]
CountOrZero = Annotated[int, Field(ge=0, le=1_000_000), Allowed("a whole number from 0 to 1000000")]
OptionalCount = Annotated[
    int | None, Field(ge=0, le=1_000_000), Allowed("a whole number from 0 to 1000000, or nothing for the default")
]
ByteCount = Annotated[int, Field(ge=1, le=_LARGEST), Allowed("a number of bytes, 1 or more")]
Limit = Annotated[int, Field(ge=-1, le=_LARGEST), Allowed("a whole number; 0 or -1 for no limit")]
Port = Annotated[int, Field(ge=0, le=65535), Allowed("a port number from 0 to 65535; 0 takes a free one")]

Tag = Annotated[str, AfterValidator(_matching(r"[A-Za-z0-9_-]+")), Allowed("letters, digits, `_` and `-`")]
Tags = Annotated[
    tuple[Tag, ...], BeforeValidator(_read_list), Allowed("tags of letters, digits, `_`, `-`, with commas")
]
WorkerId = Annotated[
    Annotated[str, AfterValidator(_matching(r"[A-Za-z0-9_-]{1,64}"))] | None,
    Allowed("1 to 64 letters, digits, `_` and `-`"),
]
Bucket = Annotated[str, AfterValidator(_matching(r"[A-Za-z0-9_-]+")), Allowed("letters, digits, `_` and `-`")]
SubjectPrefix = Annotated[
    str,
    AfterValidator(_matching(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")),
    Allowed("a NATS subject: words of letters, digits, `_`, `-`, joined by dots"),
]
HeaderName = Annotated[
    str, AfterValidator(_matching(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")), Allowed("the name of an HTTP header")
]
FlowName = Annotated[str, Field(min_length=1, max_length=256), Allowed("the name of a flow")]
FlowResolver = Annotated[
    Annotated[str, AfterValidator(_matching(r"[^\s:]+:[^\s:]+"))] | None, Allowed("`package.module:function`")
]
Host = Annotated[str, AfterValidator(_matching(r"[^\s/@]+")), Allowed("an address or host name")]
Hosts = Annotated[
    tuple[Host, ...], BeforeValidator(_read_list), Allowed("host names or addresses, with commas between them")
]
Networks = Annotated[
    tuple[Annotated[str, AfterValidator(_check_network)], ...],
    BeforeValidator(_read_list),
    Allowed("IP addresses or networks such as `10.0.0.0/8`, with commas between them"),
]
Globs = Annotated[
    tuple[str, ...], BeforeValidator(_read_list), Allowed("patterns such as `shop.tasks:*`, with commas between them")
]
Issuer = Annotated[str, Field(min_length=1), Allowed("a text that is not empty")]

NatsUrl = Annotated[
    str,
    AfterValidator(_check_nats_url),
    Allowed("`nats://host:port` (or tls, ws, wss), several with commas between them"),
]
HttpUrl = Annotated[str, AfterValidator(_check_http_url), Allowed("`http://host:port` or `https://…`")]
FilePath = Annotated[Path, AfterValidator(_check_path), Allowed("a path")]
OptionalPath = Annotated[Annotated[Path, AfterValidator(_check_path)] | None, Allowed("a path")]
Secret = Annotated[SecretStr | None, Allowed("a text", secret=True)]

AuthModes = Annotated[
    frozenset[Literal["api_key", "jwt"]],
    BeforeValidator(_read_auth_modes),
    Allowed("`none`, `api_key`, `jwt` or `api_key,jwt`"),
]
LogLevel = Annotated[
    Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"],
    BeforeValidator(_read_upper),
    Allowed("DEBUG, INFO, WARNING, ERROR or CRITICAL"),
]
LogFormat = Annotated[Literal["json", "text"], BeforeValidator(_read_lower), Allowed("`json` or `text`")]
DashboardLang = Annotated[Literal["auto", "ja", "en"], BeforeValidator(_read_lower), Allowed("`auto`, `ja` or `en`")]
Durability = Annotated[Literal["safe", "fast"], BeforeValidator(_read_lower), Allowed("`safe` or `fast`")]
