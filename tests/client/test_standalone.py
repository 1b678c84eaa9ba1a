"""The client needs urllib3, click and rich, and nothing of the server."""

import subprocess
import sys

from tests.support.server import PROJECT

_LOADED = """
import sys
before = set(sys.modules)
import app.client.cli
loaded = {name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names
print(*sorted(loaded))
print(*sorted(name for name in sys.modules if name.startswith('app.') and not name.startswith('app.client')))
"""


def test_nothing_of_the_server_is_loaded() -> None:
    # -I leaves out what this environment adds to every interpreter.
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PROJECT)!r})\n{_LOADED}"],
        capture_output=True,
        text=True,
        check=True,
    )

    packages, of_the_application = done.stdout.splitlines()

    # rich brings pygments and markdown-it for what it could render.
    assert set(packages.split()) <= {"app", "urllib3", "click", "rich", "pygments", "markdown_it", "mdurl"}
    assert of_the_application.split() == ["app.domain", "app.domain.rank_names"]
