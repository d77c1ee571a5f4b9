"""Packages against the JSON schemas of OCF, as its coalition publishes them."""

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, FormatChecker
from referencing import Registry, Resource

FORMATS = FormatChecker(["date", "email"])
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
WHOLE = 20
"""Items of a file that are judged as the file's schema has them: each transaction is
tried with every schema of one, until it is found to follow one alone."""


@FORMATS.checks("date-time", raises=ValueError)
def is_date_time(value: Any) -> bool:
    return bool(RFC_3339.fullmatch(value) and datetime.fromisoformat(value))


class Schemas:
    def __init__(self, folder: Path) -> None:
        read = [json.loads(p.read_text()) for p in folder.rglob("*.schema.json")]
        registry: Registry = Registry().with_resources(
            (schema["$id"], Resource.from_contents(schema)) for schema in read
        )
        self.validators: dict[str, Draft7Validator] = {}
        """By the `file_type` or `object_type` that a schema is for."""
        for schema in read:
            for name in ("file_type", "object_type"):
                said = schema.get("properties", {}).get(name, {}).get("const")
                if said:
                    self.validators[said] = Draft7Validator(
                        schema, registry=registry, format_checker=FORMATS
                    )

    def errors(self, package: Path) -> list[str]:
        """What is wrong with a zip: with its files, and with what its manifest says."""
        with zipfile.ZipFile(package) as archive:
            contents = {name: archive.read(name) for name in archive.namelist()}
        found = [
            f"{name}{error.json_path[1:]}: {error.message}"
            for name, content in contents.items()
            for error in self.errors_of(json.loads(content))
        ]
        manifest = json.loads(contents.pop("Manifest.ocf.json"))
        named = {
            file["filepath"].removeprefix("./"): file["md5"]
            for section, files in manifest.items()
            if section.endswith("_files")
            for file in files
        }
        digests = {name: hashlib.md5(c).hexdigest() for name, c in contents.items()}
        return found if named == digests else [*found, f"{named} is not {digests}"]

    def errors_of(self, file: dict[str, Any]) -> Iterator[Any]:
        items = file.get("items", [])
        first = file | {"items": items[:WHOLE]} if "items" in file else file
        yield from self.validators[file["file_type"]].iter_errors(first)
        for item in items[WHOLE:]:
            yield from self.validators[item["object_type"]].iter_errors(item)
