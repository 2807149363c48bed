"""Random calls, one module an original."""
