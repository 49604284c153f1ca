"""Descriptions of tasks and of the flow.yaml format, meant to be read by a language model."""

from .service import SupportInfoService, build

__all__ = ["SupportInfoService", "build"]
