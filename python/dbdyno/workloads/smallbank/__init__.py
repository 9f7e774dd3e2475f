"""SmallBank: short transactions on a few hot customers, of which not all levels are safe."""
