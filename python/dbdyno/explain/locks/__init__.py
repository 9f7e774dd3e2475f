"""Who holds which row for how long, and what that costs the others."""
