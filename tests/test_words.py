"""Texts use the words of `words.md`, and none of the phrasings that are refused.

Texts are docstrings, comments, strings of several words, pages, documents,
descriptions, scripts, and the subjects of commits.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

WORDS = Path(__file__).with_name("words.md")
TEXTS = (".py", ".md", ".html", ".js", ".graphql", ".json", ".sql", ".toml", ".yml")
# Migrations stay as they are; the others are another project's, or name phrasings.
NOT_OURS = ("/migrations/", "templates/static/graphiql/", "tests/words.md")
NOT_OURS_EITHER = ("tests/test_words.py", "templates/docs/licences.md", "/data/")
# A phrasing, and what to write in its place.
REFUSED = {
    r"\bwho(m|)ever\b": "name the subject: a user, a partner, a process",
    r"\bbesides\b": "also; in addition to",
    r"\bof (ours|theirs|yours)\b": "our, their, your; internal",
    r"(?:^|[.!] |\| )Who(m|se)? [a-z][^.!?|]*[.;:,](?![^.!|]*\?)": "name the subject",
    r"\b(by|for|of|to) who\b": "name the subject: by users that",
    r"(?:^|[.!] )Let (?!us\b|’s\b)": "a verb that says what is done: keep, allow, wait",
    r"(?<![Tt]here )\bis no (day|date|whole|number|text|time|multiple)\b": "is not a",
    r"\btold\b": "reported, shown, said, given, distinguished",
    r"\btells (how|what|when|whether|which|why|who|that)\b": "says, shows, explains",
    r"\b(is|are|was|were) to be\b": "must be, will be, should be",
    r"\bby way of\b": "through",
    r"\bonce more\b": "again",
    r"\bin the midst\b": "during",
    r"(^|>)What happened(<|$)": "Activity",
    r"\blies? (at|with) (the bank|SUSPENSE)": "is held; is booked to suspense",
    r"\bthat it is of\b": "name what it belongs to",
    r"\bhas? to be waited\b": "waits",
    r"(?<!was )\bmade for it\b": "newly issued",
    r"\bin vain\b": "without success",
    r"\b(hereby|therein|thereof|thereupon|whence|wherein)\b": "plain words",
    r"\blooked through\b": "checked",
    r"\bnobody yet\b": "does not exist yet",
    r"\bthe lines left be\b": "cancel the remaining lines",
    r"\bgives? out\b": "hands out, issues",
    r"\bsays? nothing else\b": "takes no value",
    r"\bis called nothing\b": "has no name",
    r"\bif you like\b": "optional",
    r"\bWhat it becomes\b": "New status",
    r"\bdo(es)? not look at\b": "ignores",
    r"\bnot looked at\b": "not checked",
    r"\bas it was said\b": "as stated",
    r"\bby hand of\b": "by",
}
BASELINE = "b5e26fa"
MOST_CHARACTERS = 72
# A subject is an imperative: not one of these, and no third person, past or participle.
NO_IMPERATIVE = re.compile(
    r"(Let|Tell|Bring|Have|Say|Want|Give)\b|[A-Z][a-z]+(ing|ed)\b"
)
IMPERATIVES = {"Bring", "Exceed", "Feed", "Need", "Ring", "Seed", "Speed", "String"}
# Made before this test, or pushed beside it.
SUBJECTS_THAT_STAY = {
    "Answer a request for the status of a symbol that is no text",
    "Expect the field that is too dear in the test of known sizes",
    "Format times of documents once, and take the offerings' reflection period",
    "Judge orders and trades by their time, whoever moves the market",
    "Refuse a bust to a closed account and a tariff before the one to come by name",
    "Show whether a trade is clearly erroneous to who decides on its bust",
}


def glossary() -> list[list[str]]:
    rows = [line.strip("| \n").split("|") for line in WORDS.read_text().splitlines()]
    return [[cell.strip() for cell in row] for row in rows if len(row) in (2, 3)][2:]


def refused() -> dict[re.Pattern[str], str]:
    found = {re.compile(phrase): remedy for phrase, remedy in REFUSED.items()}
    for term, _, *phrasings in glossary():
        for phrasing in re.findall(r"`(.+?)`", "".join(phrasings)):
            found[re.compile(rf"\b{phrasing}\b", re.IGNORECASE)] = term
    return found


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """Strings as they read, a placeholder as "…", and runs of comments as one text."""
    tree = ast.parse(source)
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "…"
                    for part in node.values
                ),
            )
        elif isinstance(node, ast.Constant) and id(node) not in parts:
            yield node.lineno, str(node.value)
    lines: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if lines and lines[-1][0] != token.start[0] - 1:
            yield lines[0][0], " ".join(text for _, text in lines)
            lines = []
        lines.append((token.start[0], token.string.strip("# ")))
    if lines:
        yield lines[0][0], " ".join(text for _, text in lines)


def sql_texts(source: str) -> Iterator[tuple[int, str]]:
    """Runs of comments, and literals: names are no texts."""
    for text in SQL_TEXT.finditer(source):
        yield (
            source.count("\n", 0, text.start()) + 1,
            re.sub(r"'\s+'|--", "", text[0]),
        )


SQL_TEXT = re.compile(r"(?:--.*\n\s*)+|'(?:[^']|'')*'(?:\s+'(?:[^']|'')*')*")


def texts(file: str) -> Iterator[tuple[int, str]]:
    source = (settings.BASE_DIR / file).read_text()
    if file.endswith(".py"):
        found = python_texts(source)
    elif file.endswith(".sql"):
        found = sql_texts(source)
    else:
        at = 1
        pieces = []
        for piece in re.split(r"(\n\s*\n)", source):
            pieces.append((at, piece))
            at += piece.count("\n")
        found = iter(pieces)
    for line, text in found:
        plain = re.sub(r"\s+", " ", text).strip()
        if " " in plain:
            yield line, plain


def files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files"],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [
        file
        for file in listed
        if file.endswith(TEXTS)
        and not any(part in file for part in (*NOT_OURS, *NOT_OURS_EITHER))
        and (settings.BASE_DIR / file).exists()
    ]


def breaches(text: str) -> list[str]:
    return [
        f"“{text[max(0, match.start() - 30) : match.end() + 20]}”: {remedy}"
        for phrase, remedy in refused().items()
        for match in phrase.finditer(text)
    ]


def test_texts_use_the_words_of_the_glossary():
    found = [
        f"{file}:{line}: {breach}"
        for file in files()
        for line, text in texts(file)
        for breach in breaches(text)
    ]
    assert not found, f"{len(found)} breaches:\n" + "\n".join(found)


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=settings.BASE_DIR, capture_output=True, text=True
    ).stdout.strip()


def test_subjects_of_commits_are_imperatives():
    if (
        not git("cat-file", "-t", BASELINE)
        or git("rev-parse", "--is-shallow-repository") != "false"
    ):
        pytest.skip("the history does not reach back to the baseline")
    wrong = []
    for subject in git(
        "log", "--no-merges", "--format=%s", f"{BASELINE}..HEAD"
    ).splitlines():
        first = subject.split(" ")[0]
        if subject in SUBJECTS_THAT_STAY:
            continue
        if len(subject) > MOST_CHARACTERS:
            wrong.append(f"{subject}: {len(subject)} characters")
        if first not in IMPERATIVES and NO_IMPERATIVE.match(subject):
            wrong.append(f"{subject}: begin with an imperative")
        wrong += [f"{subject}: {breach}" for breach in breaches(subject)]
    assert not wrong, "\n".join(wrong)


def test_the_glossary_is_short_and_sorted():
    terms = [row[0] for row in glossary()]

    assert len(terms) <= 150
    assert len(terms) == len(set(terms))


@pytest.mark.parametrize(
    "text",
    [
        "Who pays, decides.",
        "A market of ours is open.",
        "Let it be. It can not be.",
        "The partner is told why.",
        "The document tells why.",
        "Who asks must wait; others need not.",
        "A key for who reads. It is to be ended.",
    ],
)
def test_a_phrasing_is_refused(text):
    assert breaches(text)


@pytest.mark.parametrize(
    "text",
    [
        "Who pays?",
        "Who may do what",
        "There is no order here.",
        "Leave blank to freeze the position.",
        "The second user was made for it.",
        "What happened to the mutation",
    ],
)
def test_plain_words_are_not(text):
    assert not breaches(text)
