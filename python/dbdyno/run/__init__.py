"""One measured run: what was asked, the plan made of it, the measuring, and its verdict."""
