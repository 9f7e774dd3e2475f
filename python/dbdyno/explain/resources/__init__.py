"""What rules need of CPU, network, storage and the server's own work."""
