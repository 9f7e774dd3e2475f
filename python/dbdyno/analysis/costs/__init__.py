"""What a committed transaction used of each resource."""
