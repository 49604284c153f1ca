"""Import names of existing user code; the engine itself lives in pyoco.engine."""
