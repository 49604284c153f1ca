"""The engine: what a flow is and how it runs. It imports no other room, so a flow.yaml runs without any server."""
