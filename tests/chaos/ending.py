"""How a long run ends: its report, and exit code 1 where something is wrong."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

Report = TypeVar("Report", bound=Any)


def end(
    report: Report, as_json: bool, show: Callable[[Report], object], wrong: str
) -> None:
    """Write a report, a dataclass, as a line of JSON or by `show`, for people.

    `wrong` is what was not as it should be; empty: nothing.
    """
    if as_json:
        sys.stdout.write(json.dumps(asdict(report)) + "\n")
    else:
        show(report)
    if wrong:
        sys.exit(wrong)
