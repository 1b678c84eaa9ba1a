"""A person's flows in a real browser, against a real server."""
