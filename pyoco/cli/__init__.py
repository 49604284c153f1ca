"""The command line: one module per command group; what is heavy is imported inside the commands."""
