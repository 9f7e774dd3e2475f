"""One measured run: its options, the plan made from them, the measurement and the verdict."""
