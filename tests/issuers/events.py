"""Counts of events that a test wrote itself."""

from issuers.register.verification import EVENT_GROUPS

COUNT_EVENTS = f"""
    INSERT INTO issuers_eventcount (partner_id, type, issuer_id, token_id, number)
    {EVENT_GROUPS}
    ON CONFLICT (partner_id, type, issuer_id, token_id)
    DO UPDATE SET number = excluded.number
"""
