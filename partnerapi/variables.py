"""One environment variable: how it is read, and what is said where it is wrong."""

import base64
import math
import os
import re
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from django.core.exceptions import ImproperlyConfigured


class Variable(NamedTuple):
    """One row of the settings: how to read it, its default, an example, its meaning."""

    kind: str
    default: Any
    example: str
    meaning: str


RANGES: dict[str, tuple[int, float, str]] = {
    "int": (0, math.inf, "a whole number, 0 or more"),
    "positive": (1, math.inf, "a whole number, 1 or more"),
    "port": (1, 65_535, "a port number, 1 to 65535"),
    # The database refuses to remove what is younger.
    "event_days": (30, 36_500, "a number of days, 30 to 36500"),
}
"""The least and the greatest of a kind of whole numbers, and what is expected."""
CHOICES = {
    "serves": (("api", "admin", "both"), "api, admin or both"),
    "format": (("text", "json"), "text or json"),
    "level": (
        ("DEBUG", "INFO", "WARNING", "ERROR"),
        "one of DEBUG, INFO, WARNING, ERROR",
    ),
}
PATTERNS = {
    "mic": ("[A-Z0-9]{4}", "four capital letters or digits"),
    "comp_id": (
        "[A-Za-z0-9._-]{1,20}",
        "1 to 20 letters, digits, dots, dashes or underscores",
    ),
}


def parse(name: str, variable: Variable, text: str) -> Any:
    """The value of a variable that is set.

    Raises:
        ImproperlyConfigured: naming the variable, what was expected, an example.
    """

    def refuse(expected: str) -> ImproperlyConfigured:
        shown = "(hidden)" if name in SECRETS else repr(text)
        return ImproperlyConfigured(
            f"{name}={shown}: expected {expected}; example: {name}={variable.example}"
        )

    match variable.kind:
        case kind if kind in RANGES:
            least, greatest, expected = RANGES[kind]
            if not text.isdecimal() or not least <= int(text) <= greatest:
                raise refuse(expected)
            return int(text)
        case kind if kind in CHOICES:
            allowed, expected = CHOICES[kind]
            if text not in allowed:
                raise refuse(expected)
            return text
        case kind if kind in PATTERNS:
            pattern, expected = PATTERNS[kind]
            if not re.fullmatch(pattern, text):
                raise refuse(expected)
            return text
        case "bool":
            if text.lower() not in ("true", "false"):
                raise refuse("true or false")
            return text.lower() == "true"
        case "zone":
            if text not in available_timezones():
                raise refuse("a time zone of the IANA database")
            return text
        case "key":
            try:
                seed = base64.b64decode(text, validate=True)
            except ValueError:
                seed = b""
            if len(seed) != 32:
                raise refuse("32 bytes in base64")
            return text
        case "networks":
            try:
                return [ip_network(item.strip()) for item in text.split(",") if item]
            except ValueError:
                raise refuse("IP networks, separated by commas") from None
        case "list":
            return [item.strip() for item in text.split(",") if item.strip()]
        case "writable":
            directory = Path(text)
            with suppress(OSError):
                directory.mkdir(parents=True, exist_ok=True)
            if not (directory.is_dir() and os.access(directory, os.W_OK | os.X_OK)):
                raise refuse("a directory that this process may create or write to")
            return text
        case "url":
            if text.partition("://")[0] not in URL_SCHEMES[name]:
                raise refuse(
                    "an address starting with "
                    + " or ".join(f"{s}://" for s in URL_SCHEMES[name])
                )
            parts = urlsplit(text)
            is_postgres = text.startswith("postgres")
            hosts = parts.netloc.rpartition("@")[2]
            try:
                # PostgreSQL may be any of several hosts, each with its port.
                for host in hosts.split(",") if is_postgres else [parts.netloc]:
                    urlsplit(f"//{host}").port  # noqa: B018
            except ValueError:
                raise refuse("a port number after the host") from None
            return text.rstrip("/")
        case _:
            return text


SECRETS = (
    "EMAIL_URL",
    "DATABASE_URL",
    "DATABASE_OWNER_URL",
    "DATABASE_DIRECT_URL",
    "REPLICA_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "PARTNER_API_KEY_PEPPER",
    "PARTNER_API_STATEMENT_KEY",
    "PARTNER_API_SANDBOX_KEY",
)
WEB = ("https", "http")
URL_SCHEMES = {
    "EMAIL_URL": ("smtp", "smtp+tls", "smtp+ssl", "consolemail"),
    "DATABASE_URL": ("postgres", "postgresql"),
    "DATABASE_OWNER_URL": ("postgres", "postgresql"),
    "DATABASE_DIRECT_URL": ("postgres", "postgresql"),
    "REPLICA_URL": ("postgres", "postgresql"),
    "REDIS_URL": ("redis", "rediss", "unix"),
    "PARTNER_API_BASE_URL": WEB,
    "PARTNER_API_SANDBOX_URL": WEB,
    "PARTNER_API_LOCAL_URL": WEB,
}
