"""The FIX acceptor: who comes in, what is sent, and the way of a W.

In: `listener` takes a connection, `first_message` its Logon, `logon` judges it, and
`leases` make it the only one of its CompID. From there `relay` gives each whole message
(`inbound`) to QuickFIX (`quickfix`), which judges numbers, fields and silence, and has
`session` answer what a client asks.

Out: `Feed` follows the log. `conflation` decides when a book's state becomes a version
(`versions`), whose text is the same for many sessions, and calls the sessions that
watch the book. `session` asks each `Subscription` for its next message: its version
makes a W (`full_refresh`) or an X (`incremental_refresh`), in the words of
`protocol.messages`. `outbound` adds the head and the checksum, and writes.

The listener's loop runs all of this in one thread. Other threads are the feed, the
leases, the supervisor, and the verifiers of Logons, which wait for the database.
"""
