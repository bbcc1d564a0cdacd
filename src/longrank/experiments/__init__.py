"""Experiments: the demo, the reproduction of the paper, and benchmarks."""
