"""What the tests share: callers of the API, and uploads by the URLs that it gives."""
