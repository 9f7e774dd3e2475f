"""The load of TPC-B, sort of."""
