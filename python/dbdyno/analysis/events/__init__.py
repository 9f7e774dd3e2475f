"""What happened in a run: checkpoints, stalls and dips, and what each cost."""
