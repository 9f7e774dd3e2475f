"""Pages about many runs, and their texts: comparisons, histories, searches, studies."""
