"""Property tests of the rules: the same examples in every run, and few enough to stay quick."""

from hypothesis import settings

settings.register_profile("domain", derandomize=True, max_examples=150, deadline=None, database=None)
settings.load_profile("domain")
