#!/usr/bin/env python
import os
import signal
import sys


def end_at_once(number: int, frame: object) -> None:
    """Before `up` has started anything there is nothing to end but itself."""
    sys.stderr.write("up stopped before it began\n")
    sys.stderr.flush()
    os._exit(130)


def main() -> None:
    if sys.argv[1:2] == ["up"]:
        signal.signal(signal.SIGINT, end_at_once)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "partnerapi.settings")
    try:
        from partnerapi.command_line import CommandLine
    except ModuleNotFoundError as error:
        sys.exit(
            f"{error}. Use the project's virtual environment: "
            "python3 -m venv .venv && .venv/bin/pip install -e '.[sandbox]', "
            "then .venv/bin/python manage.py"
        )
    from django.core.exceptions import ImproperlyConfigured

    if sys.argv[1:] == ["--version"]:
        from partnerapi.core.version import version

        sys.stdout.write(f"Partner API {version()}\n")
        return
    try:
        CommandLine(sys.argv).execute()
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        # Before a command has begun, or after it has ended.
        sys.exit(130)


if __name__ == "__main__":
    main()
