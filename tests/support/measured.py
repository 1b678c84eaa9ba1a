"""The `tracesets` command, which says at its end how much memory it held."""

import sys

# Not `getrusage`: that peak would begin with the memory of the process that started this one.
_SCRIPT = """
import sys
from app.client.cli import main
try:
    main(prog_name="tracesets")
finally:
    lines = open("/proc/self/status").read().splitlines()
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM:")), file=sys.stderr)
"""
MEASURED = (sys.executable, "-c", _SCRIPT)
"""Followed by the command's arguments; the last line of its standard error is the peak in KiB."""
