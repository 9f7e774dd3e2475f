"""How a server comes to exist: found, or started privately and always stopped again."""
