"""The load of TPC-B, approximately."""
