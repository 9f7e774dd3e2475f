"""Where client time went: waits, locks, CPU time, and the queue before a client."""
