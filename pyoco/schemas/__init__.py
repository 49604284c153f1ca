"""Import names of existing user code; the format itself lives in pyoco.engine.document."""
