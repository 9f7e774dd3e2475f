"""What happens to a server while it is under load: planned events, and what they cost."""
