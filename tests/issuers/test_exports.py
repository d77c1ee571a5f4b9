"""Exports of the register: tables and ledgers, in every format."""

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper
from pypdf import PdfReader

from accounts.people.models import User, UserHolder
from issuers.management.exporting import open_output
from issuers.models import Issuer, Token
from issuers.register import ledger
from issuers.register.captable import capitalization_tables
from issuers.register.ledger import Entry, Price
from issuers.register.models import LedgerTransaction
from tests.issuers.register import empty_token, new_issuer, people

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
FIRST = datetime(2024, 1, 1, 9, tzinfo=UTC)


@pytest.fixture
def issuer():
    """Two classes, a treasury, five holders, and prices, on seven days."""
    issuer = new_issuer()
    Issuer.objects.filter(pk=issuer.pk).update(
        slug="acme", trading_name="Acme", country_id="FR", formation_date="2019-05-02"
    )
    issuer.refresh_from_db()
    common = empty_token(issuer, "ACME", FIRST)
    preferred = empty_token(issuer, "ACME-P", FIRST)
    Token.objects.filter(pk=preferred.pk).update(
        class_type="PREFERRED", seniority=2, votes_per_share=3
    )
    users = people(5)
    for number, user in enumerate(users):
        UserHolder.objects.filter(user=user).update(name=f"Holder {number}")
    UserHolder.objects.filter(user=users[0]).update(name='=HYPERLINK("http://x")')
    User.objects.filter(pk=users[1].pk).update(email="one@example.com")
    accounts = ledger.holder_accounts(user.pk for user in users)
    a, b, c, d, e = (accounts[user.pk] for user in users)
    own = ledger.treasury(issuer)
    of, other = common.pk, preferred.pk

    def at(day):
        return FIRST + day * DAY

    ledger.write_history(
        [of, other],
        [
            Price(of, 125, "ISSUE", at(0)),
            Entry(of, "MINT", 1_000, None, own, "Founded", at=at(1)),
            Entry(of, "ALLOCATE", 400, own, a, at=at(1)),
            Entry(of, "ALLOCATE", 400, own, b, at=at(2)),
            Entry(other, "MINT", 2**63, None, c, at=at(3)),
            Entry(of, "TRANSFER", 150, a, d, 'Said "=1+1", née Łukasz\t', at=at(4)),
            Entry(of, "RETURN", 50, b, own, at=at(5)),
            Entry(other, "TRANSFER", 7, c, e, at=at(6)),
            Price(of, 0, "MANUAL", at(6)),
            Entry(of, "BURN", 100, own, None, at=at(6)),
        ],
        "ana",
    )
    return issuer


def run(*arguments, **options):
    output = io.StringIO()
    call_command(*arguments, **options, stdout=output)
    return output.getvalue()


def table_of(issuer, at):
    """A table by the names of holders and tokens, and not by ids."""
    [table] = capitalization_tables([str(issuer.pk)], at, True)
    tokens = dict(issuer.tokens.values_list("pk", "name"))
    names = {str(pk): name for pk, name in tokens.items()}
    holders = dict(UserHolder.objects.values_list("user_id", "name"))
    users = {str(pk): name for pk, name in holders.items()}
    return (
        [(names[t.token_id], t.price, t.held, t.supply) for t in table.tokens],
        table.total_value,
        sorted(
            (
                users[h.user_id], h.total_value, h.percentage,
                [(names[b.token_id], b.balance, b.value) for b in h.token_balances],
            )
            for h in table.holders
        ),
    )  # fmt: skip


def test_a_table_is_written_line_by_line(issuer, capsys):
    at = FIRST + 4 * DAY
    lines = list(
        csv.reader(io.StringIO(run("export", "captable", "acme", at=at, format="csv")))
    )
    assert lines[0][:2] == ["holder_id", "holder"]
    found = {line[1]: (line[7], *map(int, line[8:11])) for line in lines[1:]}
    assert found == {
        "Holder 1": ("ACME", 400, 125, 50_000),
        '\'=HYPERLINK("http://x")': ("ACME", 250, 125, 31_250),
        "Holder 3": ("ACME", 150, 125, 18_750),
        "Holder 2": ("ACME-P", 2**63, 0, 0),
    }
    assert [line[1] for line in lines[1:]] == [*found]
    assert sum(float(line[11]) for line in lines[1:]) == pytest.approx(1)
    assert "acme at 2024-01-05T09:00:00Z: 4 lines, 100,000 cents" in (
        capsys.readouterr().err
    )
    objects = run("export", "captable", "acme", at=at, format="jsonl").splitlines()
    first, *_, last = map(json.loads, objects)
    assert (first["holder"], first["units"], first["email"]) == (
        "Holder 1", 400, "one@example.com"
    )  # fmt: skip
    assert (last["units"], last["percentage"]) == (str(2**63), 0.0)
    text = run("export", "captable", "acme", at=at).splitlines()
    assert len(text) == 6
    assert text[2].split()[-3:] == ["125", "50000", "0.5"]


def test_an_instant_before_everything_has_no_lines(issuer):
    assert (
        len(
            run("export", "captable", "acme", at=FIRST - DAY, format="csv").splitlines()
        )
        == 1
    )


def cells(path):
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(path) as archive:
        sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
        assert sheet.find(f".//{space}f") is None
    return [
        ["".join(cell.itertext()) for cell in row] for row in sheet.iter(f"{space}row")
    ]


def test_a_workbook_has_numbers_and_no_formulas(issuer, tmp_path):
    file, again = tmp_path / "acme.xlsx", tmp_path / "again.xlsx"
    for path in (file, again):
        run(
            "export", "captable", "acme", at=FIRST + 4 * DAY, format="xlsx", output=path
        )
    assert file.read_bytes() == again.read_bytes()
    rows = cells(file)
    assert rows[2][1] == '=HYPERLINK("http://x")'
    assert rows[2][-4:] == ["250", "125", "31250", "0.3125"]
    assert str(2**63) in rows[4]
    run("ledger", "show", "ACME", format="xlsx", output=file)
    assert [row[0] for row in cells(file)] == ["seq", *"123456"]
    with pytest.raises(CommandError, match="use --output FILE"):
        run("export", "captable", "acme", format="xlsx")
    with pytest.raises(CommandError, match="cannot be written: Is a directory"):
        run("export", "captable", "acme", format="xlsx", output=tmp_path)


def test_a_table_imported_elsewhere_is_the_same(issuer, tmp_path):
    for day in range(8):
        at = FIRST + day * DAY + timedelta(hours=3)
        file = tmp_path / f"{day}.zip"
        run("export", "captable", "acme", at=at, format="ocf", output=file)
        # Another installation has another issuer of this name.
        before = set(Issuer.objects.values_list("pk", flat=True))
        rewritten = tmp_path / f"renamed-{day}.zip"
        renamed(file, rewritten, f"Acme {day}")
        run("import", "ocf", rewritten)
        [imported] = Issuer.objects.exclude(pk__in=before)
        assert table_of(imported, at) == table_of(issuer, at)
    facts = imported.tokens.order_by("created_at").values_list(
        "class_type", "seniority"
    )
    assert list(facts) == [(None, None), ("PREFERRED", 2)]


def renamed(source, target, name):
    with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w") as write:
        for entry in read.namelist():
            content = read.read(entry)
            if entry == "Manifest.ocf.json":
                manifest = json.loads(content)
                manifest["issuer"]["legal_name"] = name
                content = json.dumps(manifest)
            write.writestr(entry, content)


def test_a_ledger_is_written_entry_by_entry(issuer):
    lines = list(
        csv.DictReader(io.StringIO(run("ledger", "show", "ACME", format="csv")))
    )
    assert [(line["seq"], line["kind"], line["amount"]) for line in lines] == [
        ("1", "MINT", "1000"), ("2", "ALLOCATE", "400"), ("3", "ALLOCATE", "400"),
        ("4", "TRANSFER", "150"), ("5", "RETURN", "50"), ("6", "BURN", "100"),
    ]  # fmt: skip
    assert (lines[1]["from"], lines[1]["to_name"]) == (
        "treasury", "'=HYPERLINK(\"http://x\")"
    )  # fmt: skip
    assert lines[3]["effective_at"] == "2024-01-05T09:00:00Z"
    assert len(run("ledger", "show", "ACME").splitlines()) == 8


# Someone else's program: it knows the documentation, and nothing of this project.
OTHERS = """
import hashlib, json, sys

FIELDS = {"amount", "chainReference", "effectiveAt", "heldAfter", "holdersAfter",
          "kind", "lineVersion", "previousDigest", "privateDigest", "reverses",
          "sequence", "source", "sourceBefore", "supplyAfter", "target",
          "targetBefore", "token"}
digest, balances, supply = bytes(32), {}, 0
for number, text in enumerate(open(sys.argv[1], encoding="utf-8"), 1):
    exported = json.loads(text)
    line = exported["line"]
    entry = json.loads(line)
    assert entry.keys() == FIELDS and entry["sequence"] == str(number)
    opened = bytes.fromhex(exported["salt"]) + exported["private"].encode("utf-8")
    assert hashlib.sha256(opened).hexdigest() == entry["privateDigest"], number
    canonical = json.dumps(
        entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert canonical == line
    digest = hashlib.sha256(digest + line.encode("utf-8")).digest()
    assert digest.hex() == exported["digest"], number
    amount = int(entry["amount"])
    for side, sign in ("source", -1), ("target", 1):
        if entry[side + "Before"] is None:
            supply -= sign * amount
        else:
            balances[entry[side]] = balances.get(entry[side], 0) + sign * amount
    assert supply == int(entry["supplyAfter"]) and min(balances.values()) >= 0
print(digest.hex(), supply)
"""


def test_somebody_elses_program_computes_the_chain(issuer, tmp_path):
    assert len(OTHERS.strip().splitlines()) <= 30
    file = tmp_path / "ledger.jsonl"
    run("ledger", "show", "ACME", format="jsonl", output=file)

    def computed():
        return subprocess.run(
            [sys.executable, "-c", OTHERS, str(file)],
            capture_output=True, text=True, check=False, env={},
        )  # fmt: skip

    last = json.loads(file.read_text().splitlines()[-1])
    assert computed().stdout.split() == [last["digest"], "900"]
    head = Token.objects.get(symbol="ACME").ledger_head
    assert last["digest"] == head.entry_digest.hex()
    first = json.loads(file.read_text().splitlines()[0])
    line = first["line"].encode()
    assert first["digest"] == hashlib.sha256(bytes(32) + line).hexdigest()
    assert LedgerTransaction.objects.filter(token__symbol="ACME").count() == 6
    file.write_text(file.read_text().replace("Founded", "Refounded"))
    assert "AssertionError: 1" in computed().stderr


def test_prices_are_written_with_their_chain(issuer):
    lines = run("ledger", "show", "ACME", prices=True, format="jsonl").splitlines()
    head = Token.objects.get(symbol="ACME").ledger_head
    assert json.loads(lines[-1])["digest"] == head.price_digest.hex()
    found = list(
        csv.DictReader(
            io.StringIO(run("ledger", "show", "ACME", prices=True, format="csv"))
        )
    )
    assert [(x["number"], x["price_cents"], x["source"]) for x in found] == [
        ("1", "125", "ISSUE"), ("2", "0", "MANUAL"),
    ]  # fmt: skip
    assert found[0]["effective_at"] == "2024-01-01T09:00:00Z"


def test_a_reader_of_standard_output_may_stop():
    reads, writes = os.pipe()
    os.close(reads)
    with (
        os.fdopen(writes, "w") as pipe,
        pytest.raises(SystemExit) as ended,
        open_output(None, OutputWrapper(pipe)) as file,
    ):
        file.write("a line\n" * 100_000)
    assert ended.value.code == 0


def text_of(file):
    return "\n".join(page.extract_text() for page in PdfReader(file).pages)


def test_an_extract_is_a_document_that_is_always_the_same(issuer, tmp_path):
    at = FIRST + 4 * DAY
    file, again = tmp_path / "acme.pdf", tmp_path / "again.pdf"
    for path in (file, again):
        run("export", "register-extract", "acme", at=at, output=path)
    assert file.read_bytes() == again.read_bytes()
    said = text_of(file)
    chain = run("ledger", "show", "ACME", format="jsonl").splitlines()
    for text in (
        "Register of Acme", "2024-01-05T09:00:00Z", "ACME-P", "Holder 1", "31.2500%",
        "9,223,372,036,854,775,808", "1,000.00 EUR", json.loads(chain[3])["digest"],
        "Page 1 of 1",
    ):  # fmt: skip
        assert text in said


def test_a_statement_tells_what_a_holder_has_and_how_it_came(issuer, tmp_path):
    file = tmp_path / "one.pdf"
    run(
        "export", "holder-statement", "one@example.com", at=FIRST + 5 * DAY, output=file
    )
    said = text_of(file)
    for text in (
        "Statement of Holder 1",
        "ALLOCATE",
        "+400",
        "RETURN",
        "-50",
        "437.50",
    ):
        assert text in said
    run(
        "export", "holder-statement", "one@example.com", at=FIRST + 4 * DAY, output=file
    )
    assert "RETURN" not in text_of(file)


def test_names_beyond_latin_letters_are_shown(issuer, tmp_path):
    file = tmp_path / "acme.pdf"
    UserHolder.objects.filter(name="Holder 1").update(name="Łukasz Ωμέγα 王")
    run("export", "register-extract", "acme", at=FIRST + 4 * DAY, output=file)
    assert "Łukasz Ωμέγα [U+738B]" in text_of(file)


def test_a_document_of_too_many_lines_names_the_file(issuer, tmp_path, monkeypatch):
    monkeypatch.setattr("issuers.exports.statements.MOST_LINES", 3)
    with pytest.raises(CommandError, match="captable acme --format csv writes them"):
        run(
            "export",
            "register-extract",
            "acme",
            at=FIRST + 4 * DAY,
            output=tmp_path / "a.pdf",
        )
    [buyer] = people(1)
    account = ledger.holder_accounts([buyer.pk])[buyer.pk]
    token = Token.objects.get(symbol="ACME").pk
    entry = Entry(token, "ALLOCATE", 1, ledger.treasury(issuer), account)
    ledger.record([entry] * 4, "ana")
    with pytest.raises(CommandError, match="more than 3 entries. ledger SYMBOL"):
        run("export", "holder-statement", str(buyer.pk), output=tmp_path / "a.pdf")
    assert list(tmp_path.iterdir()) == []
