"""All benchmarks one after the other; each prints its table beside its reference.

python -m tests.benchmarks [NAME...]
"""

import subprocess
import sys

BENCHMARKS = ("signing", "sessions", "disk_throughput", "memory", "listing", "pages", "load", "client")


def main() -> int:
    """Run those that are named, or all; a failure of one does not keep the others from running."""
    failed = []
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"\n=== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"tests.benchmarks.{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
