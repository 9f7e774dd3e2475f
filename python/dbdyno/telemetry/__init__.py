"""Watches server and host while the engine runs, on the engine's clock. Judges nothing."""
