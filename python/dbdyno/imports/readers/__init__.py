"""One module for each tool: what it prints, and which version prints it so."""
