"""QuickFIX 1.16.0, and what is done against its faults.

The listener drives QuickFIX's sessions itself: it gives them whole messages, and a tick
each second. Here, QuickFIX has no socket and no thread, and so none of their faults.

Issues (#) and pull requests (PR) are those of github.com/quickfix/quickfix, as of
November 2026. Where none was found, the place in its source is named.

1. `import quickfix` takes SIGINT: Ctrl-C ends the process at once.
   Upstream: #226.
   Here: handlers are installed after the import (`run_fix_acceptor`); web workers
   never import it.
2. An exception of Python's that leaves a callback calls Py_Exit, which hangs or ends
   the process.
   Upstream: none found; python/quickfix.i, director:except; the C++ side of it: #550.
   Here: `guard_callback` in `application.py`.
3. A Logon within a session begins its numbers anew before it is judged.
   Upstream: none found; Session.cpp, nextLogon.
   Here: `inbound.py` ends the session before the engine reads it.
4. Sessions cannot be made while it runs.
   Upstream: #363, PR #219.
   Here: a pool of CompIDs from the start.
5. Messages are kept for ResendRequests without a bound.
   Upstream: #283.
   Here: PersistMessages=N (`settings.py`).
6. A field of no dictionary within a group breaks the group.
   Upstream: PR #147.
   Here: books do not pass through it (`outbound.py`); for clients that use it,
   BookSequence(5083) stands behind the group.
7. Logs show passwords.
   Upstream: none found; FileLog.cpp.
   Here: the engine gets no key (`first_message.py`) and no log: `outbound.py` has one.
8. A session that was logged out takes no Logon until it is allowed to.
   Upstream: none found; Session.cpp, logout.
   Here: `allow_logons` in `engine_session.py`.
9. Each session has a copy of the dictionary, 2.6 MB.
   Upstream: none found; SessionFactory.cpp.
   Here: one for all (`settings.py`).
10. A field of type data is read for as long as the field before it says: a length that
   is negative, or longer than the message, ends the process. Tags wrap around at 2³².
   Upstream: none found; Message.cpp, extractField.
   Here: `inbound.py` lets no such field pass, nor a tag of more than 9 digits.
11. Messages ahead of one that is missing are kept without a bound, and no callback
   hears of them.
   Upstream: none found; Session.cpp, doTargetTooHigh.
   Here: `session.py` counts them, and ends the session.
12. A ResendRequest for numbers that were never sent is answered with a gap fill that
   leads backwards.
   Upstream: none found; Session.cpp, nextResendRequest.
   Here: `application.py` rejects it.
"""
