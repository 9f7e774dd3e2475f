"""A run over a slower network than there is: the proxy, and the way through it."""
