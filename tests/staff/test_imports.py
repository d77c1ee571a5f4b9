"""Files that staff import: preview, then confirmation."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.people.models import User
from issuers.legacy.models import LegacyImport, LegacyShareholder
from issuers.models import Issuer, IssuerFinancialData
from partnerapi.staff.register import imports
from tests.characters import World

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
        (b"x" * (imports.MOST_BYTES + 1), "at most 5,242,880 can be imported here"),
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
