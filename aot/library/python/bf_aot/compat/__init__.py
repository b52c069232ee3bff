"""Interfaces of other packages, answered by bf_aot."""
