"""The process that runs user code, and both ends of the socket between it and its worker."""
