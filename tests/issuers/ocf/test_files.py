"""Folders, archives and files: which are read, which are refused."""

import json
import zipfile

import pytest
from django.core.management import CommandError

from issuers.models import Issuer
from issuers.ocf import reading
from issuers.register.models import LedgerTransaction
from tests.issuers.ocf.packages import ROOT, files, issue, refused, run

pytestmark = pytest.mark.django_db


def zipped(folder, target, prefix="export/2024"):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"{prefix}/{file.name}")
        archive.writestr("__MACOSX/._Manifest.ocf.json", b"\0")
    return target


def test_the_same_package_as_a_zip_or_split_otherwise_changes_nothing(write, tmp_path):
    second = issue("s2", "bob", "5")
    folder = write(files(ROOT, second))
    archive = zipped(folder, tmp_path / "nova.zip")
    assert "2 entries and 0 prices" in run(archive)
    assert run(folder).strip().endswith("nova-sas: 0 changes.")
    package = files(ROOT)
    package["More.ocf.json"] = {
        "file_type": "OCF_TRANSACTIONS_FILE", "items": [second],
    }  # fmt: skip
    assert run(write(package)).strip().endswith("nova-sas: 0 changes.")
    assert (Issuer.objects.count(), LedgerTransaction.objects.count()) == (1, 2)


def test_files_that_are_not_read_are_named(write, tmp_path, capsys):
    others = {"a.txt": "a", "deeds/b.pdf": "b", "c.json": "{}", ".hidden": "d"}
    folder = write(files(ROOT) | others)
    said = "3 files not read: their names do not end in .ocf.json (a.txt, c.json, "
    assert said in run(folder, dry_run=True)
    archive = tmp_path / "nova.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for file in folder.rglob("*.*"):
            made.write(file, file.relative_to(tmp_path))
    assert "3 files not read: " in run(archive, dry_run=True)
    package = files(ROOT) | others
    package["Manifest.ocf.json"]["transactions_files"] += [{"filepath": "./c.json"}]
    [line] = refused(write(package), capsys)
    assert "transactions_files: names ./c.json; rename it in both places" in line


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("Bad.ocf.json", "{oops", "Bad.ocf.json: is not an OCF file"),
        ("Bad.ocf.json", "[" * 100_000, "Bad.ocf.json: is not an OCF file"),
        ("Bad.ocf.json", '{"file_type": "OCF_X", "items": [NaN]}', "Bad.ocf.json: is"),
        (
            "Bad.ocf.json",
            "[]",
            ("Bad.ocf.json: is not an OCF file: it does not contain a JSON"),
        ),
        ("Bad.ocf.json", {"file_type": "X"}, "Bad.ocf.json: is not an OCF file: its"),
        ("Bad.ocf.json", {"file_type": "OCF_X"}, "Bad.ocf.json: is not an OCF file"),
        (
            "Bad.ocf.json",
            {"file_type": "OCF_X", "items": [3, {"id": "a\0"}, {"id": "b"}]},
            "Bad.ocf.json, item 1: is not a JSON object",
        ),
        (
            "Bad.ocf.json",
            {"file_type": "OCF_VALUATIONS_FILE", "items": [ROOT]},
            "Bad.ocf.json, issue-s1: TX_STOCK_ISSUANCE belongs in OCF_TRANS",
        ),
        (
            "Bad.ocf.json",
            {"file_type": "OCF_TRANSACTIONS_FILE", "items": [ROOT | {"id": "ann"}]},
            "ann: Bad.ocf.json has another object with this id",
        ),
        (
            "Manifest.ocf.json",
            files(stock_plans=1)["Manifest.ocf.json"]
            | {"stakeholders_files": [{"filepath": "./V.ocf.json"}]},
            "Manifest.ocf.json, stakeholders_files: names ./V.ocf.json, which is not",
        ),
        ("Manifest.ocf.json", {"file_type": "OCF_X", "items": []}, "0 files have the"),
        ("Two.ocf.json", {"file_type": "OCF_MANIFEST_FILE"}, "2 files have the"),
        ("Manifest.ocf.json", {"file_type": "OCF_MANIFEST_FILE"}, "has no issuer"),
        (
            "Manifest.ocf.json",
            files(country_of_formation="XX")["Manifest.ocf.json"],
            "country_of_formation 'XX' is not an ISO 3166 alpha-2 code",
        ),
    ],
)
def test_a_wrong_file_is_named(write, capsys, name, content, rule):
    lines = refused(write(files() | {name: content}), capsys)
    assert any(rule in line for line in lines), lines


def test_archives_that_can_not_be_read(tmp_path, write, capsys, monkeypatch):
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK no zip")
    assert "cannot be unpacked" in refused(broken, capsys)[0]
    with pytest.raises(CommandError, match=r"none.zip cannot be read: No such file"):
        run(tmp_path / "none.zip")
    twice = tmp_path / "twice.zip"
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr("Manifest.ocf.json", json.dumps(files()["Manifest.ocf.json"]))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("Manifest.ocf.json", "{}")
    assert "is in the archive twice" in refused(twice, capsys)[0]
    cut = tmp_path / "cut.zip"
    cut.write_bytes(twice.read_bytes()[:300])
    assert "cannot be unpacked" in refused(cut, capsys)[0]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "contains no file whose name ends in .ocf.json" in refused(empty, capsys)[0]

    folder = write(files(ROOT) | {"Bomb.ocf.json": " " * 3_000_000})
    bomb = zipped(folder, tmp_path / "bomb.zip")
    assert bomb.stat().st_size < 20_000
    monkeypatch.setattr(reading, "MAX_BYTES", 1_000_000)
    for path in (bomb, folder):
        [line] = refused(path, capsys)
        assert "has more than 1000000 bytes unpacked" in line
    monkeypatch.setattr(reading, "MAX_FILES", 3)
    assert "contains 5 files; the limit is 3" in refused(bomb, capsys)[0]


def test_a_file_that_nothing_is_kept_of_may_be_absent(write, capsys):
    package = files(ROOT)
    manifest = package["Manifest.ocf.json"]
    manifest["stock_plans_files"] = [{"filepath": "./StockPlans.ocf.json"}]
    said = run(write(package))
    assert "./StockPlans.ocf.json: named in stock_plans_files, but not in the" in said
    package = files(ROOT, legal_name="Nova II")
    package["Manifest.ocf.json"]["transactions_files"] += [{"filepath": "./More.json"}]
    with pytest.raises(CommandError, match="Nothing was changed"):
        run(write(package))
    assert "names ./More.json, which is not in the package" in capsys.readouterr().err


def test_a_file_that_is_named_without_ocf_is_found(write):
    package = files(ROOT)
    package["Manifest.ocf.json"]["transactions_files"] = [
        {"filepath": "./Transactions.json"}
    ]
    said = run(write(package))
    assert "./Transactions.json: named, but read as Transactions.ocf.json" in said
    assert LedgerTransaction.objects.count() == 1


@pytest.mark.parametrize(
    "value", ['"' + "a" * 3_000_000 + '"', "[" + "[]," * 1_000_000 + "0]"]
)
@pytest.mark.parametrize("member", ["items", "junk"])
def test_a_value_that_is_too_long_is_not_read(write, capsys, member, value):
    text = f'{{"file_type": "OCF_X", "{member}": [{value}]}}'
    [line] = refused(write(files(ROOT) | {"Long.ocf.json": text}), capsys)
    assert "Long.ocf.json: is not an OCF file: A value of more than 1,048,576" in line


def test_a_hundred_problems_are_told_and_the_others_counted(write, capsys):
    wrong = [issue(f"s{n}", "missing", "1") for n in range(1_234)]
    said = refused(write(files(*wrong)), capsys)
    assert (len(said), said[-1]) == (101, "and 1,134 more")
