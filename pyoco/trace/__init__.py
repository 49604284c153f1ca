"""Import names of existing user code; tracing itself lives in pyoco.engine."""
