"""The log shows who imported which file, and who exported which register."""

import io
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID
from zipfile import ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.db.models import Model
from django.test import Client

from accounts.history.models import RowChange
from accounts.people.models import HolderImport, User
from issuers.legacy import delivery
from issuers.legacy.models import LegacyImport
from issuers.models import Issuer
from issuers.register import ledger
from issuers.register.ledger import Entry
from partnerapi.staff.log.reading import Line
from tests.characters import World
from tests.issuers.ocf.packages import ROOT, files
from tests.staff.conftest import lines_of_log
from tests.staff.test_delivery import CONFIRM, MINT, new_lines

SAM = "sam@example.com"
LOG = "/admin/log/"
HOLDERS = (
    b"name,kind,email\nNora New,INDIVIDUAL,nora@example.com\n\nOle,INDIVIDUAL,o@x.no\n"
)
LINES = (
    b"reference,holder_email,token_symbol,number_of_shares,price_cents,holder_name,"
    b"holder_kind\na1,nora@example.com,LUM,10,5,Nora New,INDIVIDUAL\n"
    b"a2,nora@example.com,LUM,20,5,Nora New,INDIVIDUAL\n"
)


def logged(staff: Client, **wanted: str) -> list[Line]:
    return lines_of_log(staff, wanted)


def by_page(staff: Client, content: bytes, kind: str, **fields: Any) -> None:
    file = SimpleUploadedFile("file.csv", content)
    data = {"kind": kind, "file": file} | fields
    seen = staff.post("/admin/import/", data, follow=True)
    assert not seen.context["found"].problems
    checksum = seen.context["upload"].checksum
    staff.post("/admin/import/preview/", {"checksum": checksum})


def columns(line: Line) -> dict[str, str]:
    return dict(row.split(": ", 1) for row in (line.after or "").splitlines())


@pytest.mark.parametrize("way", ["page", "command"])
def test_an_import_of_holders_is_in_the_log(staff: Client, tmp_path: Path, way: str):
    if way == "page":
        by_page(staff, HOLDERS, "holders")
        who, source = SAM, "page /admin/import/preview/"
    else:
        file = tmp_path / "file.csv"
        file.write_bytes(HOLDERS)
        for dry_run in (True, False):
            call_command(
                "import",
                "holders",
                file,
                staff=SAM,
                dry_run=dry_run,
                stdout=io.StringIO(),
            )
        who, source = SAM, "command import holders"
    [line] = logged(staff, object=str(HolderImport.objects.get().pk))
    assert (line.what, line.kind, line.name) == ("Insert", "Holder import", "file.csv")
    assert (line.who, line.source) == (who, source)
    said = columns(line)
    assert said["checksum sha256"] == sha256(HOLDERS).hexdigest()
    assert (said["file name"], said["line count"]) == ("file.csv", "2")
    # The same file again changes nothing, and is no line.
    before = RowChange.objects.count()
    if way == "page":
        staff.post("/admin/import/", {"kind": "holders", "file": HOLDERS})
    else:
        call_command("import", "holders", file, staff=SAM, stdout=io.StringIO())
    assert RowChange.objects.count() == before


@pytest.mark.parametrize("way", ["page", "command"])
def test_an_import_of_legacy_shares_is_in_the_log(
    world: World, staff: Client, tmp_path: Path, way: str
):
    if way == "page":
        given = {"issuer": "lumen", "creates_holders": "on"}
        by_page(staff, LINES, "legacy", **given)
        source = "page /admin/import/preview/"
    else:
        file = tmp_path / "file.csv"
        file.write_bytes(LINES)
        call_command(
            "import",
            "legacy-shareholders",
            file,
            issuer="lumen",
            create_holders=True,
            staff=SAM,
            stdout=io.StringIO(),
        )
        source = "command import legacy-shareholders"
    [line] = logged(staff, object=str(LegacyImport.objects.get().pk))
    assert (line.what, line.who, line.source) == ("Insert", SAM, source)
    assert line.name == "file.csv of Lumen"
    said = columns(line)
    assert said["issuer"] == "Lumen"
    assert said["checksum sha256"] == sha256(LINES).hexdigest()
    assert (said["file name"], said["line count"]) == ("file.csv", "2")


def test_sql_that_imports_is_in_the_log(db: None, staff: Client):
    made = HolderImport.objects.create(
        file_name="x.csv", checksum_sha256="0" * 64, imported_by=SAM
    )
    [line] = logged(staff, object=str(made.pk))
    assert line.source == "SQL"


@pytest.fixture
def held(world: World) -> User:
    """A holder of 40 units of a token of Lumen."""
    user = world.shareholders[0].user
    [account] = ledger.holder_accounts([user.pk]).values()
    ledger.record([Entry(world.public_token.pk, "MINT", 40, None, account)], "me")
    return user


FORMATS = ("table", "csv", "xlsx", "jsonl", "ocf")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.usefixtures("held")
def test_each_format_of_a_table_by_command_is_in_the_log(
    world: World, staff: Client, tmp_path: Path, format: str
):
    output = None if format == "table" else tmp_path / f"lumen.{format}"
    # OCF requires both.
    Issuer.objects.filter(pk=world.listed.pk).update(
        formation_date="2020-01-31", country="FR"
    )
    call_command(
        "export",
        "captable",
        "lumen",
        format=format,
        output=output,
        stdout=io.StringIO(),
        stderr=io.StringIO(),
    )
    [line] = logged(
        staff, object=str(world.listed.pk), source="command export captable"
    )
    assert (line.what, line.kind, line.name) == ("Export", "Issuer", "Lumen")
    assert (line.who or "").startswith("operator ")
    said = columns(line)
    assert (said["what"], said["format"]) == ("Capitalization table", format)
    assert said["file"] == (output.name if output else "standard output")
    assert said["lines"] == "1"
    assert said["at"].endswith("Z")


def other_exports(world: World, held: User, output: Path) -> dict[str, Any]:
    return {
        "ledger show": (world.public_token, ["LUM"], {"format": "csv"}),
        "export register-extract": (world.listed, ["lumen"], {}),
        "export holder-statement": (held, [str(held.pk)], {}),
    }


@pytest.mark.parametrize(
    "command",
    ["ledger show", "export register-extract", "export holder-statement"],
)
def test_each_other_export_by_command_is_in_the_log(
    world: World, held: User, staff: Client, tmp_path: Path, command: str
):
    output = tmp_path / "export"
    of, arguments, options = other_exports(world, held, output)[command]
    call_command(
        *command.split(),
        *arguments,
        **options,
        output=output,
        stdout=io.StringIO(),
        stderr=io.StringIO(),
    )
    [line] = logged(staff, object=str(of.pk), source=f"command {command}")
    assert (line.what, line.name) == ("Export", str(of))
    said = columns(line)
    assert said["file"] == "export"
    if "sha256" in said:
        assert said["sha256"] == sha256(output.read_bytes()).hexdigest()


def test_an_imported_package_is_in_the_log(staff: Client, tmp_path: Path):
    package = tmp_path / "nova.zip"
    with ZipFile(package, "w") as archive:
        for name, content in files(ROOT).items():
            archive.writestr(name, json.dumps(content))
    for dry_run in (True, False):
        call_command("import", "ocf", package, dry_run=dry_run, stdout=io.StringIO())
    issuer = Issuer.objects.get()
    [line] = [
        line for line in logged(staff, object=str(issuer.pk)) if line.what == "Import"
    ]
    assert line.source == "command import ocf"
    assert columns(line)["file"] == package.name


def downloads(world: World) -> dict[str, Callable[[Client], Any]]:
    ids = [UUID(pk) for pk in new_lines(world.public_token, 70, 30)]
    job = delivery.begin_job(MINT, ids, SAM)
    return {
        f"/admin/issuer/{world.listed.pk}/captable.csv": lambda staff: staff.get(
            f"/admin/issuer/{world.listed.pk}/captable.csv"
        ),
        f"/admin/deliveries/{job.pk}/lines.csv": lambda staff: staff.get(
            f"/admin/deliveries/{job.pk}/lines.csv"
        ),
        CONFIRM: lambda staff: staff.post(
            CONFIRM,
            {"line": [str(pk) for pk in ids], "source": "TREASURY", "do": "csv"},
        ),
        LOG: lambda staff: staff.get(LOG, {"format": "csv"}),
    }


@pytest.mark.usefixtures("held")
def test_each_download_by_page_is_in_the_log(world: World, staff: Client):
    for path, take in downloads(world).items():
        answer = take(staff)
        content = b"".join(answer.streaming_content)
        [line] = logged(staff, source=f"page {path}", who=SAM)
        assert line.what == "Export"
        assert line.request_id
        said = columns(line)
        assert said["sha256"] == sha256(content).hexdigest()
        assert f'"{said["file"]}"' in answer["Content-Disposition"]
        # Cells may hold line breaks.
        assert 0 < int(said["lines"]) <= content.count(b"\n") - 1


def test_a_page_that_is_printed_is_in_the_log(world: World, held: User, staff: Client):
    pages: dict[str, Model] = {
        f"/admin/issuer/{world.listed.pk}/captable/": world.listed,
        f"/admin/token/{world.public_token.pk}/ledger/": world.public_token,
        f"/admin/holder/{held.pk}/": held,
    }
    for path, of in pages.items():
        shown = staff.get(path, follow=True).content.decode()
        assert '<div class="printed" hidden>' in shown
        assert staff.post(f"{path}?seq=1").status_code == 204
        [line] = logged(staff, object=str(of.pk), source=f"page {path}")
        assert (line.what, line.who, line.name) == ("Export", SAM, str(of))
        assert (columns(line)["format"], columns(line)["page"]) == (
            "print",
            f"{path}?seq=1",
        )


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT history_note('DELETE', 'issuers_issuer', 'x', '{}')",
        "SELECT history_note('Insert', 'issuers_issuer', 'x', '{}')",
    ],
)
def test_only_exports_and_imports_are_noted(db: None, statement: str):
    with (
        pytest.raises(DatabaseError, match="Triggers keep"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@pytest.mark.django_db(transaction=True)
def test_an_export_that_cannot_be_kept_is_not_given(world: World, tmp_path: Path):
    output = tmp_path / "lumen.csv"
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        try:
            with pytest.raises(CommandError, match="PostgreSQL is read-only"):
                call_command("export", "captable", "lumen", format="csv", output=output)
        finally:
            cursor.execute("SET default_transaction_read_only = off")
    assert not output.exists()
