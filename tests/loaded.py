"""A command beside busy processes, as on a machine that has more to do than it can.

python -m tests.loaded 8 COMMAND     beside eight of them; its exit code is that of the command
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack

BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(100_000))"
"""It ends with the process that has started it, however that ends."""


def main() -> int:
    """Run the command."""
    number, *command = sys.argv[1:]
    with ExitStack() as stack:
        for _ in range(int(number)):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY]))
            stack.callback(busy.kill)
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
