"""The files of an Open Cap Table (OCF) package, from a folder or a zip, as objects."""

import hashlib
import json
import lzma
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

from partnerapi.core.problems import Problem, WrongFileError

MAX_BYTES = 256 * 1024 * 1024
MAX_FILES = 10_000
MAX_ID = 200
MANIFEST = "OCF_MANIFEST_FILE"
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    ValueError,
)
"""What `zipfile` raises for archives that are broken or made in unusual ways."""
# The file_type in which the objects that are imported stand; TX_STOCK: a prefix.
HOMES = {
    "STAKEHOLDER": "OCF_STAKEHOLDERS_FILE",
    "STOCK_CLASS": "OCF_STOCK_CLASSES_FILE",
}
TRANSACTIONS = "OCF_TRANSACTIONS_FILE"


def problem_in(file: str, id: str, rule: str) -> Problem:
    """What is wrong with an object of a package's file, or, without an id, with it."""
    return Problem(0, id, rule, file)


@dataclass(frozen=True, slots=True)
class Item:
    """An OCF object, and the file and place where it stands."""

    file: str
    index: int
    id: str
    type: str
    values: dict[str, Any]

    def problem(self, rule: str) -> Problem:
        return problem_in(self.file, self.id, rule)


@dataclass(slots=True)
class Package:
    issuer: Item
    stakeholders: dict[str, Item] = field(default_factory=dict)
    classes: dict[str, Item] = field(default_factory=dict)
    transactions: list[Item] = field(default_factory=list)
    others: list[Item] = field(default_factory=list)
    """Objects of all other types."""
    remarks: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    checksum: str = ""
    """SHA-256 of the objects, however the files divide and write them."""


def read_package(path: Path) -> Package:
    """Read a folder or a zip. Wrong objects stand in the package's problems.

    Raises:
        OSError: the folder or the file can not be read.
        WrongFileError: no package: too large, no zip, not one readable manifest.
    """
    problems: list[Problem] = []
    files: dict[str, dict[str, Any]] = {}
    digests: dict[str, str] = {}
    unread: list[str] = []
    contents = (folder_files if path.is_dir() else zip_files)(path, unread)
    for name, content in contents:
        if name in digests:
            rule = "stands in the archive twice; make it again"
            problems.append(problem_in(name, "", rule))
        digests[name] = hashlib.md5(content, usedforsecurity=False).hexdigest()
        try:
            files[name] = parse_ocf_file(content)
        except (ValueError, RecursionError) as error:
            rule = f"is not an OCF file: {error}; export it again"
            problems.append(problem_in(name, "", rule))
    manifests = [n for n, file in files.items() if file["file_type"] == MANIFEST]
    if len(manifests) != 1:
        rule = (
            f"{len(manifests)} files have the file_type {MANIFEST} "
            f"({', '.join(manifests) or 'none'}); a package has one, with its issuer"
        )
        raise WrongFileError([*problems, problem_in(path.name, "", rule)])
    [name] = manifests
    package = Package(issuer_of(name, files.pop(name), problems), problems=problems)
    check_manifest(package, name, digests, unread)
    read_items(package, files)
    if unread:
        first = ", ".join(unread[:3]) + (", …" if len(unread) > 3 else "")
        package.remarks.append(
            f"{len(unread)} files not read: their names do not end in .ocf.json "
            f"({first})"
        )
    return package


def parse_ocf_file(content: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON number")

    file = json.loads(
        content.decode("utf-8-sig"), parse_float=Decimal, parse_constant=refuse
    )
    if not isinstance(file, dict):
        raise ValueError("it holds no JSON object")
    kind = file.get("file_type")
    if not isinstance(kind, str) or not kind.startswith("OCF_"):
        raise ValueError(f"its file_type is {kind!r}, not one that starts with OCF_")
    if kind != MANIFEST and not isinstance(file.get("items"), list):
        raise ValueError("it has no list of items")
    return file


def folder_files(path: Path, unread: list[str]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of OCF files; the names of other files go to `unread`."""
    files = {p.relative_to(path).as_posix(): p for p in path.rglob("*") if p.is_file()}
    names = chosen(path, sorted(files), unread)
    left = MAX_BYTES
    for name in names:
        with files[name].open("rb") as opened:
            content = opened.read(left + 1)
        left -= len(content)
        check_size(path, left)
        yield name, content


def zip_files(path: Path, unread: list[str]) -> Iterator[tuple[str, bytes]]:
    """The same of a zip; counts unpacked bytes, not those that the archive declares."""
    left = MAX_BYTES
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            names = set(chosen(path, [e.filename for e in entries], unread))
            for entry in entries:
                if entry.filename not in names:
                    continue
                if entry.flag_bits & 1:
                    raise zipfile.BadZipFile(f"{entry.filename} is encrypted")
                with archive.open(entry) as opened:
                    content = opened.read(left + 1)
                left -= len(content)
                check_size(path, left)
                yield entry.filename, content
    except UNREADABLE as error:
        rule = (
            f"can not be unpacked: {error}; give a folder, or a zip made without "
            "a password"
        )
        raise WrongFileError([problem_in(path.name, "", rule)]) from None


def chosen(path: Path, names: list[str], unread: list[str]) -> list[str]:
    """The files to read. Files that systems leave behind are passed over in silence."""
    found: list[str] = []
    for name in names:
        if name.startswith("__MACOSX/") or PurePosixPath(name).name.startswith("."):
            continue
        (found if name.lower().endswith(".ocf.json") else unread).append(name)
    if not found:
        rule = "holds no file whose name ends in .ocf.json"
        raise WrongFileError([problem_in(path.name, "", rule)])
    if len(found) > MAX_FILES:
        rule = f"holds {len(found)} files, at most {MAX_FILES} are read"
        raise WrongFileError([problem_in(path.name, "", rule)])
    return found


def check_size(path: Path, left: int) -> None:
    if left < 0:
        rule = f"has more than {MAX_BYTES} bytes unpacked; that is not read"
        raise WrongFileError([problem_in(path.name, "", rule)])


def issuer_of(name: str, manifest: dict[str, Any], problems: list[Problem]) -> Item:
    values = manifest.get("issuer")
    if not isinstance(values, dict):
        rule = "has no issuer; the manifest names the company whose table this is"
        raise WrongFileError([*problems, problem_in(name, "", rule)])
    return Item(name, 0, one_line(str(values.get("id"))) or "issuer", "ISSUER", {
        **values, "manifest": manifest,
    })  # fmt: skip


def check_manifest(
    package: Package, name: str, digests: dict[str, str], unread: list[str]
) -> None:
    """Each file that the manifest names must be there; others are read as well."""
    home = PurePosixPath(name).parent
    named = set()
    for section, entries in package.issuer.values.pop("manifest").items():
        if not section.endswith("_files") or not entries:
            continue
        for entry in entries if isinstance(entries, list) else [entries]:
            path = entry.get("filepath") if isinstance(entry, dict) else None
            if not isinstance(path, str):
                rule = f"{section} has an entry without a filepath: {entry!r:.80}"
                package.problems.append(problem_in(name, section, rule))
                continue
            file = normpath(str(home / path.replace("\\", "/")))
            named.add(file)
            if file in unread:
                rule = f"names {path}; let its name, there and here, end in .ocf.json"
                package.problems.append(problem_in(name, section, rule))
            elif file not in digests:
                rule = f"names {path}, which the package lacks; add it or drop its name"
                package.problems.append(problem_in(name, section, rule))
            elif str(entry.get("md5") or digests[file]).lower() != digests[file]:
                package.remarks.append(f"{file}: another md5 than the manifest says")
    for file in sorted(digests.keys() - named - {name}):
        package.remarks.append(f"{file}: read, though the manifest does not name it")


def read_items(package: Package, files: dict[str, dict[str, Any]]) -> None:
    seen: dict[str, Item] = {}
    index = 0
    for name, file in files.items():
        for position, values in enumerate(file["items"], 1):
            index += 1
            item = item_of(name, index, position, values, package.problems)
            if item is None:
                continue
            other = seen.setdefault(item.id, item)
            if other is not item:
                if other.values == item.values:
                    package.remarks.append(f"{name}, {item.id}: stands there twice")
                else:
                    rule = f"{other.file} has another object of this id; rename one"
                    package.problems.append(item.problem(rule))
                continue
            place(package, item, file["file_type"])
    canonical = [package.issuer.values, [seen[key].values for key in sorted(seen)]]
    text = json.dumps(canonical, sort_keys=True, default=str)
    package.checksum = hashlib.sha256(text.encode()).hexdigest()


def item_of(
    name: str, index: int, position: int, values: Any, problems: list[Problem]
) -> Item | None:
    if not isinstance(values, dict):
        rule = "is no JSON object"
        problems.append(problem_in(name, f"item {position}", rule))
        return None
    id, kind = values.get("id"), values.get("object_type")
    for key, value in (("id", id), ("object_type", kind)):
        if not isinstance(value, str) or not value or one_line(value) != value:
            rule = f"its {key} is {value!r:.80}, which is no plain text"
            problems.append(problem_in(name, f"item {position}", rule))
            return None
        if len(value) > MAX_ID:
            rule = f"its {key} has {len(value)} characters, at most {MAX_ID} are read"
            problems.append(problem_in(name, f"item {position}", rule))
            return None
    return Item(name, index, str(id), str(kind), values)


def place(package: Package, item: Item, file_type: str) -> None:
    home = HOMES.get(item.type)
    if item.type.startswith("TX_STOCK_"):
        home = TRANSACTIONS
    if home not in (None, file_type):
        rule = f"{item.type} stands in {home}; this file's file_type is {file_type}"
        package.problems.append(item.problem(rule))
    elif item.type == "STAKEHOLDER":
        package.stakeholders[item.id] = item
    elif item.type == "STOCK_CLASS":
        package.classes[item.id] = item
    elif home == TRANSACTIONS:
        package.transactions.append(item)
    else:
        package.others.append(item)


def one_line(text: str) -> str:
    """The text with single spaces, without control characters and half pairs."""
    kept = (c for c in " ".join(text.split()) if unicodedata.category(c)[0] != "C")
    return "".join(kept)
