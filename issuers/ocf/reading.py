"""The files of an Open Cap Table (OCF) package, from a folder or a zip, as objects."""

import hashlib
import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import IO, Any

import orjson

from issuers.ocf.fields import drop_unused, left_of
from issuers.ocf.json_items import members
from issuers.ocf.objects import Item, Package, one_line, problem_in
from issuers.ocf.steps import READ, SECURITIES, names, read_step
from issuers.ocf.values import Broken
from partnerapi.core.problems import Problems, WrongFileError

MAX_BYTES = 1024 * 1024 * 1024
MAX_FILES = 10_000
MAX_ID = 200
CHUNK = 1024 * 1024
FILE_BITS = 14
"""As many as number a package's files."""
DIGEST_CUT = 256 - (60 - FILE_BITS)
"""An object's digest is cut to so much that it takes, with the file, 60 bits."""
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


NEEDED = {"stakeholders_files", "stock_classes_files", "transactions_files"}
"""Sections of a manifest, of whose files something is kept."""


@dataclass(slots=True)
class OcfFile:
    """A file of a package while it is read; `md5` is of what was read so far."""

    name: str
    chunks: Iterator[bytes] = iter(())
    md5: Any = field(default_factory=lambda: hashlib.md5(usedforsecurity=False))
    type: str = ""
    members: dict[str, Any] = field(default_factory=dict)

    def hash_chunks(self) -> Iterator[bytes]:
        for chunk in self.chunks:
            self.md5.update(chunk)
            yield chunk


def read_package(path: Path) -> Package:
    """Read a folder or a zip. Wrong objects stand in the package's problems.

    Only the effect of a transaction is kept, so a million fit into memory.

    Raises:
        OSError: the folder or the file cannot be read.
        WrongFileError: no package: too large, no zip, not one readable manifest.
    """
    package = Package(Item("", "", "ISSUER", {}), path.name)
    problems = package.problems
    reader = ObjectReader(package)
    files: dict[str, OcfFile] = {}
    unread: list[str] = []
    for file in (folder_files if path.is_dir() else zip_files)(path, unread):
        if file.name in files:
            rule = "is in the archive twice; recreate the archive"
            problems.append(problem_in(file.name, "", rule))
        files[file.name] = file
        try:
            read_file(file, reader)
        except (ValueError, RecursionError) as error:
            rule = f"is not an OCF file: {error}; export it again"
            problems.append(problem_in(file.name, "", rule))
            file.type = ""
        if file.type != MANIFEST:
            file.members.clear()
    manifests = [name for name, file in files.items() if file.type == MANIFEST]
    if len(manifests) != 1:
        rule = (
            f"{len(manifests)} files have the file_type {MANIFEST} "
            f"({', '.join(manifests) or 'none'}); a package must have exactly one, "
            "with its issuer"
        )
        problems.append(problem_in(path.name, "", rule))
        raise WrongFileError(problems)
    [name] = manifests
    package.issuer = issuer_of(name, files[name].members, problems)
    digests = {name: file.md5.hexdigest() for name, file in files.items()}
    check_manifest(package, name, digests, unread)
    package.checksum = reader.checksum()
    if unread:
        first = ", ".join(unread[:3]) + (", …" if len(unread) > 3 else "")
        package.remarks.append(
            f"{len(unread)} files not read: their names do not end in .ocf.json "
            f"({first})"
        )
    return package


def read_file(file: OcfFile, reader: "ObjectReader") -> None:
    """Give a file's items to the reader as they come, once the file_type is known.

    Raises:
        ValueError: it is no OCF file.
    """
    early: list[Any] | None = None
    has_items, position = False, 0
    for name, value in members(file.hash_chunks()):
        if name == "file_type":
            if not isinstance(value, str) or not value.startswith("OCF_"):
                raise ValueError(
                    f"its file_type is {value!r}, not one that starts with OCF_"
                )
            file.type = value
        elif name == "items":
            has_items = isinstance(value, list)
            early = None if file.type else []
        elif name:
            file.members[name] = value
        elif early is not None:
            early.append(value)
        else:
            position += 1
            reader.read(file, position, value)
    if not file.type:
        raise ValueError("its file_type is None, not one that starts with OCF_")
    if file.type != MANIFEST and not has_items:
        raise ValueError("it has no list of items")
    for position, value in enumerate(early or (), 1):
        reader.read(file, position, value)


def folder_files(path: Path, unread: list[str]) -> Iterator[OcfFile]:
    """Names and contents of OCF files; the names of other files go to `unread`."""
    files = {p.relative_to(path).as_posix(): p for p in path.rglob("*") if p.is_file()}
    names = choose_files(path, sorted(files), unread)
    left = MAX_BYTES
    for name in names:
        with files[name].open("rb") as opened:
            file = OcfFile(name)
            file.chunks = count_bytes(path, opened, left)
            yield file
            left -= opened.tell()


def zip_files(path: Path, unread: list[str]) -> Iterator[OcfFile]:
    """The same of a zip; counts unpacked bytes, not those that the archive declares."""
    left = MAX_BYTES
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            names = set(choose_files(path, [e.filename for e in entries], unread))
            for entry in entries:
                if entry.filename not in names:
                    continue
                if entry.flag_bits & 1:
                    raise zipfile.BadZipFile(f"{entry.filename} is encrypted")
                with archive.open(entry) as opened:
                    file = OcfFile(entry.filename)
                    file.chunks = unpack(path, count_bytes(path, opened, left))
                    yield file
                    left -= opened.tell()
    except UNREADABLE as error:
        raise not_unpacked(path, error) from None


def count_bytes(path: Path, opened: IO[bytes], left: int) -> Iterator[bytes]:
    while chunk := opened.read(CHUNK):
        left -= len(chunk)
        check_size(path, left)
        yield chunk


def unpack(path: Path, chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from chunks
    except UNREADABLE as error:
        raise not_unpacked(path, error) from None


def not_unpacked(path: Path, error: Exception) -> WrongFileError:
    rule = f"cannot be unpacked: {error}; use a folder, or a zip without a password"
    return WrongFileError([problem_in(path.name, "", rule)])


def choose_files(path: Path, names: list[str], unread: list[str]) -> list[str]:
    """The files to read. Files left behind by operating systems are ignored."""
    found: list[str] = []
    for name in names:
        if name.startswith("__MACOSX/") or PurePosixPath(name).name.startswith("."):
            continue
        (found if name.lower().endswith(".ocf.json") else unread).append(name)
    if not found:
        rule = "contains no file whose name ends in .ocf.json"
        raise WrongFileError([problem_in(path.name, "", rule)])
    if len(found) > MAX_FILES:
        rule = f"contains {len(found)} files; the limit is {MAX_FILES}"
        raise WrongFileError([problem_in(path.name, "", rule)])
    return found


def check_size(path: Path, left: int) -> None:
    if left < 0:
        rule = f"has more than {MAX_BYTES} bytes unpacked, which is the limit"
        raise WrongFileError([problem_in(path.name, "", rule)])


def issuer_of(name: str, manifest: dict[str, Any], problems: Problems) -> Item:
    values = manifest.get("issuer")
    if not isinstance(values, dict):
        rule = "has no issuer; the manifest must name the company"
        problems.append(problem_in(name, "", rule))
        raise WrongFileError(problems)
    return Item(name, one_line(str(values.get("id"))) or "issuer", "ISSUER", {
        **values, "manifest": manifest,
    })  # fmt: skip


def check_manifest(
    package: Package, name: str, digests: dict[str, str], unread: list[str]
) -> None:
    """The needed files that the manifest names must exist.

    Files that it does not name are read as well.
    """
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
            with_ocf = file.removesuffix(".json") + ".ocf.json"
            if file not in digests and file not in unread and with_ocf in digests:
                package.remarks.append(f"{path}: named, but read as {with_ocf}")
                file = with_ocf
            named.add(file)
            if file in digests:
                if str(entry.get("md5") or digests[file]).lower() != digests[file]:
                    remark = f"{file}: its md5 differs from the manifest's"
                    package.remarks.append(remark)
            elif section not in NEEDED:
                package.remarks.append(
                    f"{path}: named in {section}, but not in the package; the register "
                    "does not need it"
                )
            elif file in unread:
                rule = f"names {path}; rename it in both places to end in .ocf.json"
                package.problems.append(problem_in(name, section, rule))
            else:
                rule = (
                    f"names {path}, which is not in the package; add the file, or "
                    "remove its name"
                )
                package.problems.append(problem_in(name, section, rule))
    for file in sorted(digests.keys() - named - {name}):
        package.remarks.append(f"{file}: read, although the manifest does not name it")


class ObjectReader:
    """Places objects in a package, each once, and takes of a transaction what it does.

    For each id it keeps a digest of the id, the file, and a digest of the object: a
    million ids would be larger.
    """

    def __init__(self, package: Package) -> None:
        self.package = package
        self.sum = 0
        self.seen: dict[int, int] = {}
        self.files: list[str] = []

    def read(self, file: OcfFile, position: int, values: Any) -> None:
        item = item_of(file.name, position, values, self.package.problems)
        if item is None:
            return
        if not self.files or self.files[-1] != file.name:
            self.files.append(file.name)
        digest = digest_of(values)
        known = digest >> DIGEST_CUT << FILE_BITS | (len(self.files) - 1)
        other = self.seen.setdefault(cut_digest(item.id), known)
        if other is not known:
            if other >> FILE_BITS == known >> FILE_BITS:
                remark = f"{file.name}, {item.id}: listed twice"
                self.package.remarks.append(remark)
            else:
                first = self.files[other & (1 << FILE_BITS) - 1]
                rule = f"{first} has another object with this id; rename one"
                self.package.problems.append(item.problem(rule))
            return
        self.sum += digest
        place(self.package, item, file.type)

    def checksum(self) -> str:
        """The same for the same objects, however files divide and order them."""
        self.seen.clear()
        self.package.security_names.clear()
        total = (self.sum + digest_of(self.package.issuer.values)) % (1 << 256)
        return f"{total:064x}"


def cut_digest(id: str) -> int:
    """60 bits: among a million ids, two collide once in two million packages."""
    digest = hashlib.blake2b(id.encode(errors="surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest()) >> 4


def digest_of(values: Any) -> int:
    try:
        text = orjson.dumps(values, default=str, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # What orjson does not write: numbers above 64 bits, half pairs of surrogates.
        text = json.dumps(values, sort_keys=True, default=str).encode()
    return int.from_bytes(hashlib.sha256(text).digest())


def item_of(name: str, position: int, values: Any, problems: Problems) -> Item | None:
    if not isinstance(values, dict):
        rule = "is not a JSON object"
        problems.append(problem_in(name, f"item {position}", rule))
        return None
    id, kind = values.get("id"), values.get("object_type")
    for key, value in (("id", id), ("object_type", kind)):
        if not isinstance(value, str) or not value or one_line(value) != value:
            rule = f"its {key} is {value!r:.80}, which is not plain text"
            problems.append(problem_in(name, f"item {position}", rule))
            return None
        if len(value) > MAX_ID:
            rule = f"its {key} has {len(value)} characters; the limit is {MAX_ID}"
            problems.append(problem_in(name, f"item {position}", rule))
            return None
    return Item(name, str(id), str(kind), values)


def place(package: Package, item: Item, file_type: str) -> None:
    home = HOMES.get(item.type)
    if item.type.startswith("TX_STOCK_"):
        home = TRANSACTIONS
    if home not in (None, file_type):
        rule = (
            f"{item.type} belongs in {home}; the file_type of this file is {file_type}"
        )
        package.problems.append(item.problem(rule))
    elif item.type == "STAKEHOLDER":
        package.left.update(left_of(item))
        package.stakeholders[item.id] = drop_unused(item)
    elif item.type == "STOCK_CLASS":
        package.left.update(left_of(item))
        package.classes[item.id] = drop_unused(item)
    elif home == TRANSACTIONS:
        place_transaction(package, item)
    else:
        named = {key: item.values[key] for key in SECURITIES if key in item.values}
        package.others.append(replace(item, values=named))


def place_transaction(package: Package, item: Item) -> None:
    package.kinds[item.type] += 1
    if item.type not in READ:
        return
    package.left.update(left_of(item))
    try:
        package.transactions.append(read_step(item, package.security_names))
    except Broken as error:
        package.problems.append(item.problem(str(error)))
        package.broken.update(names(item))
