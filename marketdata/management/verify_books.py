from django.core.management.base import CommandError
from django.db.models import F, OuterRef, Subquery, Sum

from issuers.models import Token
from marketdata.books.feed import Feed
from marketdata.books.verification import Rule, verify
from marketdata.models import BookChange, OrderBookHead
from partnerapi.core.commands import CommandWithExamples, counting
from partnerapi.core.invariants import Finding, tell

SHOWN = 5


class Command(CommandWithExamples):
    help = """Rebuild order books from their logs and compare them; prints a line per
rule.

For each given token, or for all, it reads the whole log from its beginning or its
oldest snapshot. It compares the result with every later snapshot, with the stored
levels, and with the book of a feed started for this purpose. It changes nothing and
may run beside writers. Exit code 1 means that a rule is broken: someone bypassed the
database's guards.

examples:
  manage.py verify books
  manage.py verify books ACME NOVA
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "symbols",
            metavar="SYMBOL",
            nargs="*",
            type=str.upper,
            help="a token's symbol; all tokens if none is given",
        )

    def handle(self, *, symbols, **options):
        tokens = self.tokens(symbols)
        with counting() as begin:
            advance = begin("Changes", self.changes(tokens))
            rules = verify(tokens, self.feed_books(tokens), advance)
        return tell(self, map(shorten, rules))

    def tokens(self, symbols):
        """The tokens of these symbols; without symbols, all that can have a log."""
        tokens = Token.objects.order_by("symbol")
        if not symbols:
            return list(tokens)
        found = list(tokens.filter(symbol__in=symbols))
        unknown = sorted(set(symbols) - {token.symbol for token in found})
        if unknown:
            raise CommandError(
                f"There is no token {', '.join(unknown)}. The admin lists tokens with "
                "their symbols."
            )
        closed = sorted(
            token.symbol
            for token in found
            if token.market_type != Token.MarketType.SECONDARY_MARKET
        )
        if closed:
            raise CommandError(
                f"{', '.join(closed)}: not on the secondary market, so there is no "
                "book; market open-secondary opens one."
            )
        return found

    def feed_books(self, tokens):
        """The books of a feed that starts now, each with its last change.

        None: there is a log, but the feed has no book of it.
        """
        heads = OrderBookHead.objects.filter(token__in=tokens)
        had = dict.fromkeys(heads.values_list("token_id", flat=True))
        feed = Feed([token.pk for token in tokens])
        feed.start()
        feed.stop()
        return had | {
            token_id: book.numbered_ladder(0) for token_id, book in feed.books.items()
        }

    def changes(self, tokens):
        """The number of changes to read, from their first and last numbers."""
        changes = BookChange.objects.filter(token=OuterRef("token"))
        first = changes.order_by("sequence").values("sequence")[:1]
        heads = OrderBookHead.objects.filter(token__in=tokens)
        rows = heads.annotate(first=Subquery(first)).aggregate(
            total=Sum(F("last_sequence") + 1 - F("first"))
        )
        return rows["total"] or 0


def shorten(rule: Rule) -> Finding:
    """What `tell` writes of a rule: its first breaches, and how many more there are."""
    details = rule.breaches[:SHOWN]
    if left := len(rule.breaches) - len(details):
        details.append(f"and {left:,} more")
    return Finding(rule.says, rule.figure, len(rule.breaches), details)
