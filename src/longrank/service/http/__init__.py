"""The HTTP API: a table of endpoints, the path of a request, and one handler per endpoint."""
