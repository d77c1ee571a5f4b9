"""What the rooms of the FIX feed may load."""

import ast
import subprocess
import sys

from django.conf import settings

CLIENT = """
from marketdata.fix.client import advice, client, initiator, replica
"""


def test_the_client_runs_where_no_package_is_installed():
    subprocess.run(
        [sys.executable, "-S", "-c", CLIENT], cwd=settings.BASE_DIR, check=True
    )


def test_only_one_room_imports_quickfix():
    """Importing it makes SIGINT end the process: a web worker must never do so."""
    marketdata = settings.BASE_DIR / "marketdata"
    rooms = {
        path.parent.relative_to(marketdata).as_posix()
        for path in marketdata.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import)
        and any(name.name == "quickfix" for name in node.names)
    }
    assert rooms == {"fix/acceptor/quickfix"}
