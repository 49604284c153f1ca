"""The tasks of the hello flow: plain functions, found by the name after the colon in flow.yaml."""


def greet(name: str) -> str:
    """`name` comes from the run parameters (`--param name=…`, or the default in flow.yaml)."""
    return f"Hello, {name}!"


def shout(greet: str) -> str:
    """An argument with the name of another task gets that task's result."""
    print(f"making {greet!r} louder")
    return greet.upper()
