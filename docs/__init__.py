"""The manual's own programs; the pages are beside them."""
