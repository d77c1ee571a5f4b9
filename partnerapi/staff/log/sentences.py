"""What a line of the log says, as a sentence: who did what, to what."""

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from django.apps import apps
from django.utils.text import capfirst

from accounts.history.models import StaffChange
from accounts.people.models import TURNS_AROUND
from issuers.register.kinds import EntryKind
from issuers.register.models import TokenPrice
from partnerapi.core.database import rows_of
from partnerapi.core.money import plural
from partnerapi.core.times import to_rfc3339
from partnerapi.staff.log.naming import PERSON
from partnerapi.staff.log.reading import Fold, Line

VERBS = {
    "Insert": "added",
    "Update": "changed",
    "Delete": "deleted",
    "Export": "downloaded",
    "Import": "imported",
    "Signin": "signed in",
    "Failed sign-in": "failed to sign in",
    "Status": "changed the status of",
    "Request": "requested",
    "Approval": "approved",
    "Refusal": "rejected",
    "Taken back": "withdrew the request for",
    "Execution": "took effect:",
    "Overtaken": "was superseded:",
    "Page: added": "added",
    "Page: changed": "changed",
    "Page: deleted": "deleted",
    "Delivery": "started the delivery of",
}
TITLED = {"Request", "Approval", "Refusal", "Taken back", "Execution", "Overtaken"}
ENTRY = re.compile(r"entry (\d+), units (\d+), supply (\d+)")
JOB = re.compile(r"(\d+) lines, source (\w+), delivered (\d+), refused (\d+)")
WORKED = re.compile(
    r"(.*?): (Opened|Assigned|Drafted|Cancelled|Stopped|Unlocked|Started|Ordered|"
    r"Withdrew) "
    r"([^:]+): (.*)",
    re.DOTALL,
)
"""What `work` does: the row, the verb, what was done, and the reason."""
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Sentence:
    """`who` did (`verb`) to `thing`, whose log is at `link`; `rest` says how."""

    fold: Fold
    who: str
    verb: str
    thing: str
    link: str
    rest: str

    @property
    def line(self) -> Line:
        return self.fold.lines[0]

    @property
    def all_lines(self) -> str:
        """The query of the file with all lines of the fold."""
        if self.fold.count == len(self.fold.lines):
            return ""
        return urlencode(
            {
                "since": to_rfc3339(self.fold.end.at)[:16],
                "until": to_rfc3339(self.line.at)[:16],
                "who": self.line.who or "",
                "source": self.line.source,
                "details": "on",
                "format": "csv",
            }
        )


def sentences(folds: list[Fold]) -> list[Sentence]:
    """One statement, which names the people."""
    emails = [*{fold.lines[0].who for fold in folds}]
    people = {
        email: TURNS_AROUND.sub("", name)
        for email, name in rows_of(
            f"SELECT u.email, {PERSON} FROM accounts_user u"  # noqa: S608
            " WHERE u.email = ANY (%s)",
            [emails],
        )
        if name
    }
    return [sentence(fold, people) for fold in folds]


def sentence(fold: Fold, people: dict[str, str]) -> Sentence:
    line = fold.lines[0]
    who = people.get(line.who or "", line.who or "The system")
    if line.what in ("Execution", "Overtaken"):
        who = f"The request of {who}"
    verb, thing, rest = said_of(line)
    if fold.count > 1:
        thing, rest = f"{fold.count:,} {plural_of(line.kind)}", ""
        if line.what.startswith("Entry"):
            verb, thing = "recorded", f"{fold.count:,} register entries"
        elif line.what.startswith("Price"):
            verb, thing = "recorded", f"{fold.count:,} prices"
    link = f"?{urlencode({'object': line.object})}" if line.object else ""
    return Sentence(fold, who, verb, thing, "" if fold.count > 1 else link, rest)


def said_of(line: Line) -> tuple[str, str, str]:
    """The verb, what it was done to, and the rest of the sentence."""
    what, after = line.what, line.after or ""
    name = line.name or line.object or ""
    thing = f"{lowered(line.kind or '')} {name}".strip()
    if what in TITLED:
        return VERBS[what], f"the {lowered(line.name or after)}", ""
    if what == "Status":
        return (
            VERBS[what],
            thing,
            f"from {(line.before or 'nothing').lower()} to {after.lower()}",
        )
    if what == "Signin":
        return VERBS[what], "", f"from {said(line).get('address', '')}"
    if what == "Failed sign-in":
        return VERBS[what], "", f"from {line.source}" + (f", {after}" if after else "")
    if what in ("Export", "Import"):
        noted = said(line)
        verb = "printed" if noted.get("format") == "print" else VERBS[what]
        subject = noted.get("what", "a file").lower()
        detail = [f"{noted['file']}"] if "file" in noted else []
        if "lines" in noted:
            detail.append(plural(int(noted["lines"]), "line"))
        of = f"{subject} of {thing}" if line.name else subject
        return verb, of, ", ".join(detail)
    if what.startswith("Entry: ") and (found := ENTRY.fullmatch(after)):
        seq, units, supply = map(int, found.groups())
        label = EntryKind(what.removeprefix("Entry: ")).label.lower()
        return (
            f"recorded {'an' if label[0] in 'aeiou' else 'a'} {label} of",
            f"{units:,} {name}",
            f"entry {seq:,}, supply {supply:,}",
        )
    if what.startswith("Price: "):
        source = TokenPrice.Source(what.removeprefix("Price: ")).label.lower()
        return "priced", name, f"at {after}, {source}"
    if what == "Delivery" and (found := JOB.fullmatch(after)):
        count, source, delivered, refused = found.groups()
        rest = (
            f"{source.lower()}; delivered {int(delivered):,}, refused {int(refused):,}"
        )
        return VERBS[what], plural(int(count), "line"), rest
    if what == "Insert" and said(line).get("what") == StaffChange.What.APPOINTED:
        return "appointed", name, "to decide at once"
    if what == "Update":
        return VERBS[what], thing, changed(line)
    if what.startswith("Page: ") and (found := WORKED.fullmatch(after)):
        row, verb, done, reason = found.groups()
        return verb.lower(), f"{done}, {row}", reason
    if what.startswith("Page: "):
        return VERBS[what], f"{lowered(line.kind or '')} {after}".strip(), ""
    return VERBS.get(what, what), thing, ""


def plural_of(kind: str | None) -> str:
    """What several objects of this type are called."""
    for model in apps.get_models(include_auto_created=True):
        if capfirst(str(model._meta.verbose_name)) == kind:
            return lowered(str(model._meta.verbose_name_plural))
    return f"{lowered(kind)}s" if kind else "lines"


def lowered(title: str) -> str:
    """As it stands within a sentence; FIX and API keep their capitals."""
    return title[0].lower() + title[1:] if title[1:2].islower() else title


def said(line: Line) -> dict[str, str]:
    """The columns of a line, by name."""
    pairs = (row.partition(": ") for row in (line.after or "").splitlines())
    return {name: value for name, _, value in pairs}


def changed(line: Line) -> str:
    """Each column that changed, before and after."""
    before = dict(row.partition(": ")[::2] for row in (line.before or "").splitlines())
    parts = [
        f"{name}: {before.get(name, '')} → {now}" for name, now in said(line).items()
    ]
    text = "; ".join(parts)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
