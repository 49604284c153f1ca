"""Tasks of installed distributions."""

from pyoco.engine.plugins import CallablePluginTask, PluginRegistry, iter_entry_points, list_available_plugins

__all__ = ["CallablePluginTask", "PluginRegistry", "iter_entry_points", "list_available_plugins"]
