import csv
import io
from datetime import date, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from stdnum import isin as stdnum_isin
from stdnum import lei as stdnum_lei

from accounts.people.models import User
from issuers.models import Issuer, Token

pytestmark = pytest.mark.django_db
HEADER = "name,isin,symbol,country,city,website,sector,industry"
ACME = "Acme SA,FR0000131104,ACM,FR,Paris,https://acme.example,Industrials,Machinery"
BOLT = "Bolt NV,NL0011794037,BLT,NL,Delft,,,Software"


@pytest.fixture
def run(tmp_path):
    def run(*lines, dry_run=False, content=None):
        file = tmp_path / "companies.csv"
        file.write_bytes(content or "\n".join(lines).encode())
        output = io.StringIO()
        call_command("import", "issuers", file, dry_run=dry_run, stdout=output)
        return output.getvalue().splitlines()

    return run


def refused(run, capsys, *lines):
    with pytest.raises(CommandError, match="Nothing was changed"):
        run(*lines)
    assert (Issuer.objects.count(), User.objects.count()) == (0, 0)
    return [
        line.removeprefix("companies.csv, ")
        for line in capsys.readouterr().err.splitlines()
    ]


def counted(created, updated, unchanged, taken=0):
    return (
        f"Issuers: {created} created, {updated} updated, {unchanged} unchanged; "
        f"{taken} symbols were already taken"
    )


def isin(number):
    code = f"FR{number:09d}"
    return code + stdnum_isin.calc_check_digit(code)


def test_imports_the_real_companies_and_again_changes_nothing(test_data):
    def run():
        output = io.StringIO()
        file = test_data / "listed_companies.csv"
        call_command("import", "issuers", file, stdout=output)
        return output.getvalue().splitlines()

    *taken, summary = run()
    assert summary == counted(1158, 0, 0, 19)
    assert len(taken) == 19
    assert taken[0] == "line 86: AMG is taken, US0311621009 gets AMG.2"
    with (test_data / "listed_companies.csv").open(encoding="utf-8") as file:
        rows = {row["isin"]: row for row in csv.DictReader(file)}
    for token in Token.objects.select_related("issuer__owner"):
        row, issuer, owner = rows.pop(token.isin), token.issuer, token.issuer.owner
        assert token.symbol.removesuffix(".2") == row["symbol"]
        assert issuer.trading_name == owner.company_name == row["name"].strip()
        assert issuer.country_id == owner.country_id == row["country"]
        assert issuer.trading_location == owner.city == row["city"]
        assert issuer.website == row["website"]
        assert owner.type == User.Type.COMPANY
    assert rows == {}
    assert Issuer.objects.filter(slug="societe-generale-s-a").count() == 0
    assert Issuer.objects.filter(slug="societe-generale-sa").count() == 1
    assert Issuer.objects.filter(slug="biotest-aktiengesellschaft-2").count() == 1

    assert run() == [counted(0, 0, 1158)]


def test_a_dry_run_reports_and_writes_nothing(run):
    *_, summary = run(HEADER, ACME, dry_run=True)
    assert summary == counted(1, 0, 0) + " (dry run: nothing was written)"
    assert (Issuer.objects.count(), User.objects.count()) == (0, 0)


def test_a_corrected_file_brings_the_stored_rows_up_to_date(run):
    run(HEADER, ACME, BOLT)
    corrected = "Acme SE,FR0000131104,ACME,DE,Berlin,,Industrials,Machinery"
    assert run(HEADER, corrected, BOLT) == [counted(0, 1, 1)]
    token = Token.objects.select_related("issuer__owner").get(isin="FR0000131104")
    issuer, owner = token.issuer, token.issuer.owner
    assert (token.symbol, token.name) == ("ACME", "Acme SE")
    assert (issuer.trading_name, issuer.country_id) == ("Acme SE", "DE")
    assert (issuer.trading_location, issuer.slug) == ("Berlin", "acme-sa")
    assert issuer.website == "https://acme.example"
    assert (owner.company_name, owner.city) == ("Acme SE", "Berlin")


def test_a_formation_date_is_kept_until_a_file_has_another(run, capsys):
    header = f"{HEADER},formation_date"
    run(header, f"{ACME},1998-04-30", f"{BOLT},")
    formed = Issuer.objects.order_by("slug").values_list("formation_date", flat=True)
    assert list(formed) == [date(1998, 4, 30), None]
    assert run(HEADER, ACME, BOLT) == [counted(0, 0, 2)]
    assert run(header, f"{ACME},", f"{BOLT},2001-12-01") == [counted(0, 1, 1)]
    assert list(formed.all()) == [date(1998, 4, 30), date(2001, 12, 1)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("30.04.1998", "'30.04.1998' is not a date such as 2026-01-31"),
        ("19980430", "'19980430' is not a date such as 2026-01-31"),
        ("1998-04-31", "1998-04-31 is not in the calendar"),
        ("9999-12-31", "9999-12-31 is in the future"),
    ],
)
def test_a_formation_date_that_is_none_is_refused(run, capsys, text, rule):
    lines = refused(run, capsys, f"{HEADER},formation_date", f"{ACME},{text}")
    assert lines == [f"line 2, formation_date: {rule}"]


def test_no_issuer_was_formed_in_the_future(run):
    run(HEADER, ACME)
    tomorrow = timezone.now() + timedelta(days=2)
    with pytest.raises(IntegrityError, match="issuer_was_formed_before_now"):
        Issuer.objects.update(formation_date=tomorrow.date())


def test_an_owner_whom_staff_have_renamed_is_left_alone(run):
    run(HEADER, ACME)
    User.objects.update(company_name="Acme Holding SA")
    run(HEADER, ACME.replace("Paris", "Lyon"))
    owner = User.objects.get()
    assert (owner.company_name, owner.city) == ("Acme Holding SA", "Paris")
    assert Issuer.objects.get().trading_location == "Lyon"


def test_classifies_only_by_the_exact_name_of_a_subsector(run):
    run(HEADER, ACME, BOLT)
    call_command("import", "industry-classification", stdout=io.StringIO())
    assert run(HEADER, ACME, BOLT) == [counted(0, 1, 1)]
    codes = Issuer.objects.values_list(
        "slug", "industry_classification_benchmark__subsector_code"
    )
    assert dict(codes) == {"acme-sa": None, "bolt-nv": "10101015"}


def test_taken_symbols_and_slugs_are_numbered_in_file_order(run):
    lines = [
        f"{name},{isin(number)},{symbol},FR,Paris,,,"
        for number, (name, symbol) in enumerate(
            [
                ("Café Noir", "CAF"),
                ("CAFE NOIR", "caf"),
                ("Café-Noir", "CAF"),
                ("Straße & Søn", "CAF.2"),
                ("株式会社", "KK"),
                ("x" * 120, "X1"),
                ("x" * 130, "X2"),
            ]
        )
    ]
    *taken, summary = run(HEADER, *lines)
    assert summary == counted(7, 0, 0, 3)
    assert [line.split(": ")[1].split(" is")[0] for line in taken] == [
        "CAF",
        "CAF",
        "CAF.2",
    ]
    tokens = Token.objects.order_by("isin").values_list("symbol", "issuer__slug")
    assert list(tokens) == [
        ("CAF", "cafe-noir"),
        ("CAF.2", "cafe-noir-2"),
        ("CAF.3", "cafe-noir-3"),
        ("CAF.2.2", "strasse-son"),
        ("KK", isin(4).lower()),
        ("X1", "x" * 100),
        ("X2", "x" * 98 + "-2"),
    ]
    assert run(HEADER, *lines) == [counted(0, 0, 7)]
    assert run(HEADER, *reversed(lines)) == [counted(0, 0, 7)]


def test_a_symbol_keeps_the_hyphen_that_it_ends_in(run):
    lines = [f"Acme,{isin(n)},ABC{end},FR,Paris,,," for n, end in enumerate(["-", ""])]
    assert run(HEADER, *lines) == [counted(2, 0, 0)]
    assert run(HEADER, *lines) == [counted(0, 0, 2)]
    taken = f"line 4: ABC- is taken, {isin(2)} gets ABC-.2"
    lines.append(f"Acme,{isin(2)},ABC-,FR,Paris,,,")
    assert run(HEADER, *lines) == [taken, counted(1, 0, 2, 1)]
    assert run(HEADER, *lines) == [counted(0, 0, 3)]
    symbols = Token.objects.order_by("isin").values_list("symbol", flat=True)
    assert list(symbols) == ["ABC-", "ABC", "ABC-.2"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("FR0000131104", "FR0000131105", "isin: 'FR0000131105': The check digit or"),
        ("FR0000131104", "ZZ0000131104", "isin: 'ZZ0000131104': The check digit or"),
        ("FR0000131104", "FR00001311", "isin: 'FR00001311': An ISIN has 2 letters"),
        ("FR0000131104", "", "isin: is empty"),
        (",FR,", ",EU,", "country: 'EU' is not an ISO 3166 alpha-2 code"),
        (",FR,", ",,", "country: is empty"),
        ("ACM", "AC M", "symbol: 'AC M' may contain only A-Z, 0-9, dot"),
        ("ACM", ".ACM", "symbol: '.ACM' may contain only A-Z, 0-9, dot"),
        ("ACM", "A" * 21, "symbol: has 21 characters; the limit is 20"),
        ("Acme SA", "", "name: is empty"),
        ("Acme SA", "A" * 201, "name: has 201 characters; the limit is 200"),
        ("Acme SA", "Acme\x07SA", "name: contains the control character U+0007"),
        ("Paris", "", "city: is empty"),
        (
            "https://acme.example",
            "acme.example",
            ("website: 'acme.example' is not a URL"),
        ),
        ("https", "javascript", "website: 'javascript://acme.example' is not a URL"),
    ],
)
def test_a_wrong_value_is_named_with_line_field_and_rule(
    run, capsys, old, new, problem
):
    [line] = refused(run, capsys, HEADER, BOLT, ACME.replace(old, new))
    assert line.startswith(f"line 3, {problem}")


def test_every_wrong_row_is_reported_and_none_is_written(run, capsys):
    lines = refused(
        run,
        capsys,
        HEADER,
        BOLT.replace("Bolt NV", '"Bolt\nNV"'),
        "",
        ACME.replace(",FR,", ",XX,"),
        ACME.lower(),
        "Acme",
    )
    assert lines == [
        "line 5, country: 'XX' is not an ISO 3166 alpha-2 code",
        "line 6, isin: FR0000131104 is already on line 5",
        "line 7: 1 fields, the header has 8",
    ]


def test_a_number_that_makes_a_symbol_too_long_is_refused(run, capsys):
    symbol = "S" * 19
    lines = [f"Acme,{isin(n)},{symbol},FR,Paris,,," for n in range(2)]
    assert refused(run, capsys, HEADER, *lines) == [
        f"line 3, symbol: {symbol} is taken, and {symbol}.2 would be too long"
    ]


def test_optional_columns_may_be_absent_and_unknown_ones_are_named(run, capsys):
    header = "note,city,country,symbol,isin,name"
    assert run(header, "x,Paris,fr,acm,fr0000131104,Acme") == [counted(1, 0, 0)]
    token = Token.objects.get()
    assert (token.symbol, token.isin) == ("ACM", "FR0000131104")
    assert capsys.readouterr().err == "Columns ignored: note\n"


def test_writes_no_more_statements_for_more_rows(run):
    def statements(count, start):
        lines = [
            f"Company {n},{isin(n)},S{n},FR,Paris,,,"
            for n in range(start, start + count)
        ]
        with CaptureQueriesContext(
            connection,
        ) as captured:
            run(HEADER, *lines)
        return len(captured)

    assert statements(2, start=0) == statements(900, start=10)


def test_the_database_tells_isins_and_leis_as_the_standards_do(test_data):
    with (test_data / "listed_companies.csv").open(encoding="utf-8") as file:
        isins = [row["isin"] for row in csv.DictReader(file)]
    leis = (test_data / "lei_real.txt").read_text().split()
    assert (len(isins), len(leis)) == (1158, 100)
    agrees("isin_is_valid", isins, stdnum_isin.is_valid)
    agrees("lei_is_valid", leis, stdnum_lei.is_valid)


def agrees(function, codes, is_valid):
    """On the codes, and on each with its last but one character or a pair changed."""
    neighbours = [
        code[:-2] + ("0" if code[-2] != "0" else "1") + code[-1] for code in codes
    ]
    swapped = [code[:5] + code[6] + code[5] + code[7:] for code in codes]
    cursor = connection.cursor()
    for code in [*codes, *neighbours, *swapped]:
        cursor.execute(f"SELECT {function}(%s)", [code])
        assert cursor.fetchone() == (is_valid(code),), code
    assert all(is_valid(code) for code in codes)
    assert not all(is_valid(code) for code in [*neighbours, *swapped])
