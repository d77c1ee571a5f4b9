"""Files that staff import: preview, then confirmation."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.history.models import RowChange
from accounts.people.models import User
from issuers.legacy.models import LegacyImport, LegacyShareholder
from issuers.models import Issuer, IssuerFinancialData
from partnerapi.staff.register import uploads
from partnerapi.staff.register.import_jobs import import_next
from partnerapi.staff.register.models import ImportJob
from tests.characters import World
from tests.owner import superuser

FIGURES = (
    "issuer,year,period_type,revenue_cents,net_income_cents\n"
    "lumen,2024,YEAR,9000000000001,7\n"
    "lumen,2025,FIRST_SEMESTER,-5,\n"
    "arbor,2023,YEAR,100,\n"
)
LINES = (
    "reference;holder_email;token_symbol;number_of_shares;price_cents\n"
    "a1;ines@example.com;LUM;10;5\n"
    "a2;ines@example.com;LUM;20;5\n"
)


@pytest.fixture
def upload(staff: Client):
    """Posts a file; the page on which staff then are."""

    def post(content: str | bytes, kind: str = "figures", **fields: object):
        data = content.encode() if isinstance(content, str) else content
        file = SimpleUploadedFile("file.csv", data)
        fields |= {"kind": kind, "file": file}
        return staff.post("/admin/import/", fields, follow=True)

    return post


@pytest.fixture
def confirm(staff: Client):
    def post(answer):
        checksum = answer.context["upload"].checksum
        address = "/admin/import/preview/"
        return staff.post(address, {"checksum": checksum}, follow=True)

    return post


def counts(answer) -> tuple[int, int, int]:
    found = answer.context["found"]
    return found.created, found.updated, found.unchanged


def said(answer) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def test_a_file_is_previewed_and_then_written_as_previewed(
    world: World, upload, confirm
):
    before = list(IssuerFinancialData.objects.order_by("id").values())
    answer = upload(FIGURES)
    assert counts(answer) == (1, 1, 1)
    assert list(IssuerFinancialData.objects.order_by("id").values()) == before
    assert said(confirm(answer)) == ["file.csv: 1 new, 1 changed, 1 unchanged."]
    corrected = IssuerFinancialData.objects.get(
        issuer=world.listed, year=2024, period_type="YEAR"
    )
    assert (corrected.revenue_cents, corrected.net_income_cents) == (
        9_000_000_000_001,
        7,
    )
    assert counts(upload(FIGURES)) == (0, 0, 3)
    assert "nothing new" in upload(FIGURES).content.decode()


def test_legacy_lines_holders_and_issuers_are_imported_alike(
    world: World, upload, confirm
):
    User.objects.filter(last_name="Roca").update(email="ines@example.com")
    lines = upload(LINES, "legacy", issuer="lumen")
    assert counts(lines) == (2, 0, 0)
    assert not LegacyImport.objects.exists()
    confirm(lines)
    assert LegacyShareholder.objects.filter(reference__in=["a1", "a2"]).count() == 2
    assert LegacyImport.objects.get().imported_by == "sam@example.com"
    again = upload(LINES, "legacy", issuer="lumen")
    assert "already been imported" in again.content.decode()
    others = LINES.replace("ines@", "new@").replace(
        "price_cents", "price_cents;holder_name;holder_kind"
    )
    others = (
        others.replace(";5\n", ";5;Nora New;INDIVIDUAL\n")
        .replace("a1", "b1")
        .replace("a2", "b2")
    )
    wrong = others.replace("INDIVIDUAL", "PERSON").replace(";20;", ";1,250;")
    refused = upload(wrong, "legacy", issuer="lumen", creates_holders="on")
    told = [(line, column) for line, column, *_ in refused.context["found"].problems]
    assert sorted(told) == [
        (2, "holder_kind"),
        (3, "holder_kind"),
        (3, "number_of_shares"),
    ]
    assert "constraint" not in refused.content.decode()
    assert "PERSON" in refused.content.decode()
    made = upload(others, "legacy", issuer="lumen", creates_holders="on")
    assert made.context["found"].notes == ("Holders: 1 new, 0 completed.",)

    holders = upload("name,kind,email\nNora New,INDIVIDUAL,n@example.com\n", "holders")
    assert counts(holders) == (1, 0, 0)
    confirm(holders)
    assert User.objects.filter(email="n@example.com").exists()

    listed = "name,isin,symbol,country,city\nOrel,FR0000120271,ORL,FR,Lyon\n"
    issuers = upload(listed, "issuers")
    assert counts(issuers) == (1, 0, 0)
    confirm(issuers)
    assert Issuer.objects.filter(slug="orel").exists()


def test_what_is_wrong_is_told_by_line_field_rule_and_remedy(world: World, upload):
    answer = upload(
        "issuer,year,period_type,revenue_cents\n"
        "missing,2024,YEAR,1\n"
        "lumen,24,YEAR,1\n"
        "lumen,2024,MONTH,1\n"
        'lumen,2023,YEAR,"1,000"\n'
        "lumen,2023,YEAR,1\n"
    )
    told = answer.context["found"].problems
    assert [(line, name) for line, name, _, _ in told] == [
        (2, "issuer"),
        (3, "year"),
        (4, "period_type"),
        (5, "revenue_cents"),
        (6, "year"),
    ]
    assert all(rule and remedy for _, _, rule, remedy in told)
    page = answer.content.decode()
    assert "use YEAR or FIRST_SEMESTER" in page
    assert "checksum" not in page


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"name,city\nx,y\n", "this column is missing"),
        ("issuer,year,period_type\nl\xe9,1,2\n".encode("latin-1"), "is not UTF-8"),
        (b"PK\x03\x04...", "is an Excel workbook"),
        (b"x" * (uploads.MOST_BYTES + 1), "at most 67,108,864 can be imported here"),
    ],
)
def test_each_wrong_file_has_its_own_sentence(world: World, upload, content, sentence):
    assert sentence in upload(content).content.decode()


def test_nothing_is_written_that_was_not_previewed(world: World, upload, confirm):
    answer = upload(FIGURES)
    IssuerFinancialData.objects.create(
        issuer=world.quiet, year=2023, period_type="YEAR"
    )
    changed = confirm(answer)
    assert "has changed since the preview" in said(changed)[0]
    assert counts(changed) == (0, 2, 1)
    assert IssuerFinancialData.objects.get(issuer=world.quiet).revenue_cents is None
    assert said(confirm(changed)) == ["file.csv: 0 new, 2 changed, 1 unchanged."]


def test_a_confirmation_of_another_file_writes_nothing(world: World, upload, confirm):
    first = upload(FIGURES)
    upload(FIGURES.replace("100", "200"))
    assert "uploaded another file" in said(confirm(first))[0]
    assert not IssuerFinancialData.objects.filter(issuer=world.quiet).exists()


def test_a_file_that_is_not_kept_is_asked_for_again(world: World, staff):
    answer = staff.get("/admin/import/preview/", follow=True)
    assert "Upload it again" in said(answer)[0]


def test_who_may_not_add_such_rows_can_not_import_them(world: World):
    user = User.objects.create_user(
        "new@example.com", type="INDIVIDUAL", first_name="N", is_staff=True
    )
    client = Client()
    client.force_login(user)
    assert client.get("/admin/import/").status_code == 403
    permissions = User.user_permissions.field.remote_field.model.objects
    user.user_permissions.set(
        permissions.filter(codename__endswith="_issuerfinancialdata")
    )
    client.force_login(user)
    answer = client.get("/admin/import/")
    assert [kind.title for kind in answer.context["kinds"]] == ["Financial data"]
    file = SimpleUploadedFile("file.csv", LINES.encode())
    data = {"kind": "legacy", "issuer": "lumen", "file": file}
    assert (
        "Select a valid choice" in client.post("/admin/import/", data).content.decode()
    )


def test_the_command_imports_figures(world: World, tmp_path, capsys):
    file = tmp_path / "figures.csv"
    file.write_text(FIGURES)
    call_command("import", "financial-data", str(file), dry_run=True)
    assert "1 created, 1 updated, 1 unchanged (dry run" in capsys.readouterr().out
    call_command("import", "financial-data", str(file))
    assert IssuerFinancialData.objects.get(issuer=world.quiet).revenue_cents == 100
    file.write_text(FIGURES.replace("arbor", "missing"))
    with pytest.raises(CommandError, match="1 problem"):
        call_command("import", "financial-data", str(file))


@pytest.fixture
def large(monkeypatch) -> None:
    """Every file is large."""
    monkeypatch.setattr(uploads, "AT_ONCE_BYTES", 0)


def progress(staff: Client, job: ImportJob) -> str:
    return staff.get(f"/admin/import/{job.pk}/progress/").text


@pytest.mark.usefixtures("large")
def test_a_worker_checks_and_writes_a_large_file(world: World, staff, upload):
    before = IssuerFinancialData.objects.count()
    shown = upload(FIGURES)
    job = ImportJob.objects.get()
    address = f"/admin/import/{job.pk}/"
    assert shown.redirect_chain[-1][0] == address
    assert "data-moves" in progress(staff, job)
    assert "a worker starts within seconds" in progress(staff, job)
    assert import_next()
    assert not import_next()
    assert "data-moves" not in progress(staff, job)
    checked = staff.get(address)
    assert counts(checked) == (1, 1, 1)
    assert IssuerFinancialData.objects.count() == before
    assert address in staff.get("/admin/import/").text
    staff.post(address)
    assert "data-moves" in progress(staff, job)
    assert "already been confirmed" in staff.post(address, follow=True).text
    assert import_next()
    done = staff.get(address)
    assert "<strong>Imported</strong>" in done.text
    assert counts(done) == (1, 1, 1)
    assert '<form method="post">' not in done.text.partition("<main")[2]
    assert IssuerFinancialData.objects.count() == before + 1
    job.refresh_from_db()
    assert bytes(job.content) == b""
    row = IssuerFinancialData.objects.get(issuer=world.quiet)
    [made] = RowChange.objects.filter(row_id=str(row.pk))
    assert (made.who, made.source) == ("sam@example.com", f"page {address}")


@pytest.mark.usefixtures("large")
def test_a_worker_shows_what_is_wrong_and_what_has_changed(world: World, staff, upload):
    upload("issuer,year,period_type\nmissing,2024,YEAR\n")
    import_next()
    [job] = ImportJob.objects.all()
    shown = staff.get(f"/admin/import/{job.pk}/")
    assert [line for line, *_ in shown.context["found"].problems] == [2]
    assert "Upload another file" in shown.text
    upload(FIGURES)
    import_next()
    job = ImportJob.objects.latest("pk")
    IssuerFinancialData.objects.create(
        issuer=world.quiet, year=2023, period_type="YEAR"
    )
    address = f"/admin/import/{job.pk}/"
    staff.post(address)
    import_next()
    changed = staff.get(address)
    assert "has changed since the preview" in changed.text
    assert counts(changed) == (0, 2, 1)
    assert IssuerFinancialData.objects.get(issuer=world.quiet).revenue_cents is None
    staff.post(address)
    import_next()
    assert IssuerFinancialData.objects.get(issuer=world.quiet).revenue_cents == 100


@pytest.mark.usefixtures("large")
def test_a_file_that_ends_workers_is_given_up(world: World, staff, upload):
    upload(FIGURES)
    ImportJob.objects.update(attempts=3)
    import_next()
    [job] = ImportJob.objects.all()
    assert "the worker stopped before the end each time" in progress(staff, job)
    assert not import_next()


@pytest.mark.usefixtures("large")
def test_who_lost_the_right_imports_no_more_and_others_see_nothing(
    world: World, staff, upload
):
    upload(FIGURES)
    import_next()
    [job] = ImportJob.objects.all()
    address = f"/admin/import/{job.pk}/"
    other = superuser("two@example.com", type="INDIVIDUAL", first_name="Two")
    client = Client()
    client.force_login(other)
    assert client.get(address).status_code == 404
    assert client.post(address).status_code == 404
    assert address not in client.get("/admin/import/").text
    staff.post(address)
    User.objects.filter(pk=job.person_id).update(is_active=False)
    import_next()
    job.refresh_from_db()
    assert (job.state, job.note) == (
        "FAILED",
        "You no longer have the right to import such a file.",
    )
    assert not IssuerFinancialData.objects.filter(issuer=world.quiet).exists()


@pytest.mark.usefixtures("large")
def test_files_of_yesterday_are_forgotten_unless_a_worker_is_busy(world: World, upload):
    upload(FIGURES)
    import_next()
    upload(FIGURES.replace("100", "200"))
    ImportJob.objects.update(created_at=timezone.now() - timedelta(hours=25))
    upload(FIGURES.replace("100", "300"))
    kept = ImportJob.objects.order_by("pk").values_list("state", flat=True)
    assert [*kept] == ["CHECK", "CHECK"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("large")
def test_two_workers_share_no_file(staff, upload):
    upload("issuer,year,period_type\n")
    with ThreadPoolExecutor(4) as pool:
        had = [*pool.map(lambda _: closing(import_next), range(4))]
    assert any(had)
    [job] = ImportJob.objects.all()
    assert job.state == "CHECKED"


def closing(work: Callable[[], bool]) -> bool:
    try:
        return work()
    finally:
        connection.close()
