"""Off-policy evaluation: what another policy would have earned on the decisions of a log."""
