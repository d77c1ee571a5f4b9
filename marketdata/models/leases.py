"""Which acceptor of a group has the session of a CompID."""

from django.db import models

from marketdata.models.sessions import FixSession


class FixLease(models.Model):
    """Until when, by the database's clock, an acceptor has a CompID.

    Each Logon that was proven raises the `generation`. The acceptor that has the CompID
    then asks its session whether it lives: it refuses the newer one, or gives way.
    """

    session = models.OneToOneField(FixSession, models.CASCADE, primary_key=True)
    acceptor = models.CharField(max_length=50)
    generation = models.BigIntegerField()
    taken = models.BigIntegerField(help_text="The generation that has it.")
    until = models.DateTimeField()
    refused = models.BigIntegerField(
        db_default=0, help_text="Up to this generation, Logons were refused."
    )
    address = models.GenericIPAddressField(
        null=True, help_text="Where the session that has it was logged on from."
    )
    since = models.DateTimeField(null=True, help_text="When it was taken last.")

    def __str__(self):
        return f"{self.session} at {self.acceptor}"
