"""Experiments: the demo, and later the paper."""
