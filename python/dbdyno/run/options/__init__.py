"""A run's options: their declarations, the grammars of their values, and both as words."""
