"""The one place that looks at the real environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .settings import Settings


def load_settings(flags: Mapping[str, object] | None = None) -> Settings:
    """The settings of this process, from where it stands."""
    return Settings.load(flags or {}, os.environ, Path.cwd())
