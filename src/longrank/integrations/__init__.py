"""Integrations: longrank inside other libraries, one file each, each with its extra."""
