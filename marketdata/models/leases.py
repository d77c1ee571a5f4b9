"""Which acceptor of a group has the session of a CompID."""

from django.db import models

from marketdata.models.sessions import FixSession


class FixLease(models.Model):
    """Until when, by the database's clock, an acceptor has a CompID.

    Each Logon that was proven raises the `generation`; who has an older one gives way.
    """

    session = models.OneToOneField(FixSession, models.CASCADE, primary_key=True)
    acceptor = models.CharField(max_length=50)
    generation = models.BigIntegerField()
    taken = models.BigIntegerField(help_text="The generation that has it.")
    until = models.DateTimeField()

    def __str__(self):
        return f"{self.session} at {self.acceptor}"
