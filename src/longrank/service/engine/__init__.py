"""The engine: ranks, logs and learns. A plain Python object; HTTP is only one way to reach it."""
