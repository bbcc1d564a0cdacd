"""The handlers: from an HTTP request to the engine, and its answer back."""
