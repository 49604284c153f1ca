"""Settings of every pyoco process: flags > environment > .env > pyoco.yaml, checked once, then frozen."""

from __future__ import annotations

from .load import load_settings
from .problems import SettingsError
from .settings import Settings

__all__ = ["Settings", "SettingsError", "load_settings"]
