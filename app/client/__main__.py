"""`python -m app.client`: the `tracesets` command, where it is not installed."""

from app.client.cli import main

main(prog_name="tracesets")
