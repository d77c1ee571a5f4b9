#!/usr/bin/env python
import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "partnerapi.settings")
    try:
        from django.core.management import execute_from_command_line
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
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
