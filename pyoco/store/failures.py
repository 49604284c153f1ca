"""What can go wrong with the store, in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import nats.errors
import nats.js.errors

_WRONG_SEQUENCE = (10071, 10164)
_STORE_FULL = (10023, 10077, 10047)


class StoreError(Exception):
    """Base of everything the store raises by itself."""


class Unavailable(StoreError):
    """NATS does not answer. Whether a write took effect is not known."""


class Conflict(StoreError):
    """Somebody else has written in between."""


class Full(StoreError):
    """NATS refuses to store more; nothing was written."""


class TooLarge(StoreError):
    """The message is larger than the server takes; nothing was written."""


class Missing(StoreError):
    """There is nothing under that name."""


@contextmanager
def translated() -> Iterator[None]:
    """Turns the many errors of the client library into ours."""
    try:
        yield
    except nats.js.errors.NotFoundError as error:
        raise Missing(str(error)) from error
    except nats.js.errors.APIError as error:
        if error.err_code in _WRONG_SEQUENCE:
            raise Conflict(str(error)) from error
        if error.err_code in _STORE_FULL:
            raise Full(str(error)) from error
        if error.err_code == 10054:
            raise TooLarge(str(error)) from error
        raise Unavailable(str(error)) from error
    except nats.errors.MaxPayloadError as error:
        raise TooLarge(str(error)) from error
    except (nats.errors.Error, nats.js.errors.Error, OSError, TimeoutError) as error:
        raise Unavailable(str(error) or type(error).__name__) from error
