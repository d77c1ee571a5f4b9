import csv
import io

import pytest
from django.core.management import CommandError, call_command

from issuers.imports.classification import PACKAGED_FILE
from issuers.models import IndustryClassificationBenchmark

pytestmark = pytest.mark.django_db
HEADER = (
    "industry_code,industry,supersector_code,supersector,"
    "sector_code,sector,subsector_code,subsector,description"
)
SOFTWARE = "10,Tech,1010,Tech,101010,Software,10101015,Software,Makers of software."
SERVICES = "10,Tech,1010,Tech,101010,Software,10101010,Services,Advice."


@pytest.fixture
def run(tmp_path, capsys):
    def run(*lines, dry_run=False, content=None):
        file = tmp_path / "icb.csv"
        file.write_bytes(content or "\n".join(lines).encode())
        output = io.StringIO()
        call_command(
            "import", "industry-classification", file, dry_run=dry_run, stdout=output
        )
        return output.getvalue().strip()

    return run


def refused(run, capsys, *lines, content=None):
    with pytest.raises(CommandError, match="Nothing was changed"):
        run(*lines, content=content)
    assert IndustryClassificationBenchmark.objects.count() == 0
    return capsys.readouterr().err.splitlines()


def imported():
    output = io.StringIO()
    call_command("import", "industry-classification", stdout=output)
    return output.getvalue().strip()


def test_imports_the_whole_classification_and_again_changes_nothing():
    assert imported() == "Subsectors: 173 created, 0 updated, 0 unchanged"
    entries = IndustryClassificationBenchmark.objects
    ids = set(entries.values_list("id", flat=True))
    with PACKAGED_FILE.open(encoding="utf-8", newline="") as file:
        rows = {row["subsector_code"]: row for row in csv.DictReader(file)}
    assert len(rows) == 173
    for entry in entries.all():
        row = rows[entry.subsector_code]
        assert {field: getattr(entry, field) for field in row} == row
    assert entries.values("industry").distinct().count() == 11
    assert entries.values("sector_code").distinct().count() == 45

    assert imported() == "Subsectors: 0 created, 0 updated, 173 unchanged"
    assert set(entries.values_list("id", flat=True)) == ids


def test_an_entry_has_the_same_id_in_every_installation():
    imported()
    software = IndustryClassificationBenchmark.objects.get(subsector_code="10101015")
    assert str(software.id) == "0178573b-3000-7f55-a668-c3091f4f18d6"


def test_updates_what_a_newer_file_words_differently(run):
    run(HEADER, SOFTWARE, SERVICES)
    newer = SOFTWARE.replace("Makers of software.", "Software houses.")
    assert run(HEADER, newer) == "Subsectors: 0 created, 1 updated, 0 unchanged"
    software = IndustryClassificationBenchmark.objects.get(subsector_code="10101015")
    assert software.description == "Software houses."
    assert IndustryClassificationBenchmark.objects.count() == 2


def test_a_dry_run_writes_nothing(run):
    assert run(HEADER, SOFTWARE, dry_run=True) == (
        "Subsectors: 1 created, 0 updated, 0 unchanged (dry run: nothing was written)"
    )
    assert IndustryClassificationBenchmark.objects.count() == 0


def test_reads_marks_line_ends_and_columns_as_spreadsheets_write_them(run):
    names, values = HEADER.split(","), SOFTWARE.split(",")
    lines = [",".join(reversed(names)).upper(), ",".join(reversed(values)), "", ",,,"]
    content = b"\xef\xbb\xbf" + "\r\n".join(lines).encode()
    assert run(content=content) == "Subsectors: 1 created, 0 updated, 0 unchanged"


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        (
            SOFTWARE.replace("101010,", "101020,"),
            ["sector_code: 101020 is not a prefix of the subsector code 10101015"],
        ),
        (
            SOFTWARE.replace("10101015", "1010101x"),
            ["subsector_code: '1010101x' is not 8 digits"],
        ),
        (
            SOFTWARE.replace("10,Tech", "1O,", 1),
            ["industry_code: '1O' is not 2 digits", "industry: is empty"],
        ),
        (
            SOFTWARE.replace("Software,Makers", f"{'x' * 101},Makers"),
            ["subsector: has 101 characters; the limit is 100"],
        ),
        (SOFTWARE.replace("Makers of software.", " "), ["description: is empty"]),
        (
            SERVICES.replace("10,Tech", "10,Mining", 1),
            ["industry: 10 is 'Mining' here and 'Tech' on line 2"],
        ),
    ],
)
def test_a_wrong_row_is_named_with_line_field_and_rule(run, capsys, line, problems):
    first = SOFTWARE if line.startswith("10,Mining") else SERVICES
    assert refused(run, capsys, HEADER, first, line) == [
        f"icb.csv, line 3, {problem}" for problem in problems
    ]


def test_every_wrong_row_is_reported_by_the_line_it_starts_on(run, capsys):
    two_lines = SERVICES.replace("Advice.", '"Advice,\nby the hour."')
    short = "10,Tech"
    assert refused(run, capsys, HEADER, two_lines, "", short, SERVICES) == [
        "icb.csv, line 5: 2 fields, the header has 9",
        "icb.csv, line 6, subsector_code: 10101010 is already on line 2",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "line 1: the file is empty"),
        (HEADER.encode(), "line 1: no rows below the header"),
        (f"{HEADER}\nM\xfcnchen".encode("latin-1"), "line 2: byte 0xfc is not UTF-8"),
        (f"{HEADER},sector".encode(), "line 1, sector: this column is in the"),
        (
            HEADER.replace(",sector,", ",branch,").encode(),
            "line 1, sector: this column is missing",
        ),
        (f'{HEADER}\n10,"Tech'.encode(), "line 2: unreadable from here on"),
        (
            f"{HEADER}\n{SOFTWARE.replace('Makers', chr(0))}".encode(),
            "line 2, description: contains the control character U+0000",
        ),
    ],
)
def test_what_is_no_such_table_is_refused(run, capsys, content, problem):
    if not content:
        content = b"\n"
    [line] = refused(run, capsys, content=content)
    assert line.startswith(f"icb.csv, {problem}")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(CommandError, match="No such file or directory"):
        call_command("import", "industry-classification", tmp_path / "none.csv")
