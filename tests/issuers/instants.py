"""Export a random register at many instants, import each elsewhere, and compare.

python -m tests.issuers.instants --instants 20 --holders 300 --entries 2000
"""

import argparse
import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.installation import throw_away_installation

FIRST = datetime(2022, 1, 1, tzinfo=UTC)


def write_register(holders: int, entries: int, chance: random.Random):
    from accounts.people.models import UserHolder
    from issuers.models import Issuer
    from issuers.register import ledger
    from issuers.register.ledger import Entry, Price
    from tests.issuers.register import empty_token, new_issuer, past, people

    issuer = new_issuer()
    Issuer.objects.filter(pk=issuer.pk).update(
        slug="acme", country_id="FR", formation_date="2019-05-02"
    )
    issuer.refresh_from_db()
    tokens = [empty_token(issuer, f"ACME-{n}", FIRST).pk for n in range(3)]
    users = people(holders)
    for number, user in enumerate(users):
        UserHolder.objects.filter(user=user).update(name=f"Holder {number}")
    accounts = [*ledger.holder_accounts(user.pk for user in users).values()]
    own = ledger.treasury(issuer)
    balances: dict[tuple[object, int], int] = {}

    def history():
        for number in range(entries):
            at = FIRST + timedelta(hours=number)
            token = chance.choice(tokens)
            if chance.random() < 0.05:
                yield Price(token, chance.randrange(0, 10**6), "NAV", at)
                continue
            having = [a for (t, a), units in balances.items() if t == token and units]
            source = chance.choice([None, *having])
            target = chance.choice([None, own, *accounts])
            if source == target:
                source, target = None, own
            amount = chance.randrange(1, 10**6)
            if source is not None:
                amount = chance.randint(1, balances[token, source])
                balances[token, source] -= amount
            if target is not None:
                balances[token, target] = balances.get((token, target), 0) + amount
            yield Entry(token, kind_of(source, target, own), amount, source, target,
                        at=at)  # fmt: skip

    with past(issuer):
        ledger.write_history(tokens, history(), "instants")
    return issuer


def kind_of(source, target, own):
    if source is None:
        return "MINT"
    if target is None:
        return "BURN"
    return "ALLOCATE" if source == own else "RETURN" if target == own else "TRANSFER"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instants", type=int, default=20)
    parser.add_argument("--holders", type=int, default=300)
    parser.add_argument("--entries", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with throw_away_installation(), tempfile.TemporaryDirectory() as made:
        from issuers.models import Issuer
        from tests.issuers.test_exports import renamed, run, table_of

        issuer = write_register(options.holders, options.entries, chance)
        different = 0
        for number in range(options.instants):
            hours = chance.uniform(0, options.entries + 24)
            at = FIRST + timedelta(hours=hours)
            file, other = Path(made) / "table.zip", Path(made) / "other.zip"
            run("export", "captable", "acme", at=at, format="ocf", output=file)
            renamed(file, other, f"Acme {number}")
            before = set(Issuer.objects.values_list("pk", flat=True))
            run("import", "ocf", other)
            [imported] = Issuer.objects.exclude(pk__in=before)
            is_same = table_of(imported, at) == table_of(issuer, at)
            different += not is_same
            print(f"{at}: {'equal' if is_same else 'DIFFERENT'}")  # noqa: T201
    if different:
        raise SystemExit(f"{different} of {options.instants} tables are different.")


if __name__ == "__main__":
    main()
