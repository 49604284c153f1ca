"""Starts, watches and stops the processes of one stack; imports neither nats nor aiohttp, so that it survives them."""
