"""Import names of existing user code; discovery itself lives in pyoco.engine."""
