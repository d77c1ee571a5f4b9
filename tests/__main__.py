"""Lists the long runs and benchmarks, each with what it tries.

python -m tests
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def runs() -> Iterator[tuple[str, str]]:
    """Each module whose docstring names itself as a command, and its first line."""
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text()
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__main__")
        if module == "tests":
            continue
        told = ast.get_docstring(ast.parse(text)) or ""
        if re.search(rf"python -m {re.escape(module)}(?![\w.]*\w)", told):
            yield module, told.partition("\n")[0]


def main() -> None:
    for module, tries in runs():
        sys.stdout.write(f"{module}\n    {tries}\n")


if __name__ == "__main__":
    main()
