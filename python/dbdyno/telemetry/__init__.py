"""Samples the server and the host while the engine runs, on the engine's clock. Judges nothing."""
