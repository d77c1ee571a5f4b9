"""The terms by which issuers are found."""

from django.db import models

from issuers.models.issuers import Issuer


class IssuerTerm(models.Model):
    """A term of an issuer; triggers of the database write them at each commit.

    The key is an index in the order of answers: for each term the issuers by name, so
    that a page of a common term costs what a page of a rare one does. Terms are the
    empty text, which every issuer has; `#` and an identifier (symbol, ISIN, LEI); `=`
    and a word; and, bare, the beginnings of a word from three letters on. Words have
    at most 20 letters, and come from the trading name, the company name, the symbols
    and the LEI.
    """

    pk = models.CompositePrimaryKey("term", "name", "issuer_id")
    term = models.TextField(db_collation="C")
    name = models.TextField(
        db_collation="C",
        help_text="The trading name, folded: lower case, no accents, 100 letters.",
    )
    issuer = models.ForeignKey(
        Issuer, models.DO_NOTHING, related_name="+", db_constraint=False
    )
    private = models.BooleanField(
        help_text="Only private tokens have it, for callers with access to them."
    )

    def __str__(self):
        return f"{self.name}: {self.term}"
