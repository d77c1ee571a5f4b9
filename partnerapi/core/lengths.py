"""How long texts may be that columns, forms and the API bound alike, in characters."""

ACTOR_LENGTH = 254
"""Of an e-mail address of staff, or a partner's login."""
REASON_LENGTH = 500
