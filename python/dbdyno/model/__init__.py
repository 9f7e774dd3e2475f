"""Plain data, imported by every layer and importing none."""
