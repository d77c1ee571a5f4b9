"""Which acceptor of a group has the session of a CompID."""

from django.db import models

from marketdata.models.sessions import FixSession


class FixLease(models.Model):
    """An acceptor's hold on a CompID, and its end by the database's clock.

    Each verified Logon raises the `generation`. The acceptor that has the CompID then
    tests its session. It refuses the newer Logon if the session lives; otherwise it
    gives way.
    """

    session = models.OneToOneField(FixSession, models.CASCADE, primary_key=True)
    acceptor = models.CharField(max_length=50)
    generation = models.BigIntegerField()
    taken = models.BigIntegerField(help_text="The generation that holds it.")
    until = models.DateTimeField()
    refused = models.BigIntegerField(
        db_default=0, help_text="Logons of generations up to this one are refused."
    )
    address = models.GenericIPAddressField(
        null=True, help_text="Address of the Logon of the session that holds it."
    )
    since = models.DateTimeField(null=True, help_text="When it was last taken.")

    def __str__(self):
        return f"{self.session} at {self.acceptor}"
