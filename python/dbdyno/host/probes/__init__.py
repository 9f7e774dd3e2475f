"""The questions that ``dbdyno doctor`` asks about a host, by what they are about."""
