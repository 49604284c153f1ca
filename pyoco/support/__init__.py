"""Descriptions for language models."""

from pyoco.engine.support import SupportInfoService, build

__all__ = ["SupportInfoService", "build"]
