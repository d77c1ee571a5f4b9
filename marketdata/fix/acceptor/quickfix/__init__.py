"""QuickFIX 1.16.0, and what is done against its faults.

Issues (#) and pull requests (PR) are those of github.com/quickfix/quickfix, as of
November 2026. Where none was found, the place in its source is named.

1. `import quickfix` takes SIGINT: Ctrl-C ends the process at once.
   Upstream: #226.
   Here: handlers are installed after the import (`run_fix_acceptor`); web workers
   never import it.
2. An exception of Python's that leaves a callback calls Py_Exit in a thread of the
   engine, which hangs the process.
   Upstream: none found; python/quickfix.i, director:except; the C++ side of it: #550.
   Here: `guard_callback` in `application.py`.
3. A send waits for a client that does not read, and so do all who send to it.
   Upstream: #608.
   Here: a thread for each session; a window that is smaller than the socket's buffer
   (`window.py`, SEND_BUFFER in `settings.py`).
4. A send that was cut short goes on with the whole length, past the message's end.
   Upstream: #18, PR #742.
   Here: the same buffer: what the window allows is sent in one piece.
5. A session that is disconnected by another thread than the engine's crashes.
   Upstream: #346.
   Here: the engine's sockets are its own: `proxy.py` ends a connection from the other
   side.
6. A connection's descriptor is read, and closed, again after it was closed.
   Upstream: none found; ThreadedSocketConnection.cpp, read and processStream.
   Here: `descriptors.py`; nothing follows a Logon before its answer, and pauses
   between connections (`proxy.py`).
7. The second connection of a CompID waits 5 seconds and is closed without a word.
   Upstream: none found; ThreadedSocketConnection.cpp, setSession.
   Here: the session before is ended first (`proxy.py`, `sessions.py`).
8. A Logon within a session begins its numbers anew before it is judged.
   Upstream: none found; Session.cpp, nextLogon.
   Here: `inbound.py` ends the session before the engine reads it.
9. A message is waited for as long as BodyLength(9) says, and kept until its
   CheckSum(10) comes, however long that is.
   Upstream: none found; Parser.cpp, readFixMessage.
   Here: limits in `inbound.py`.
10. A connection without a Logon never ends, and the engine cannot be bound to one
   address.
   Upstream: none found; the list of addresses that it takes: PR #524.
   Here: `listener.py` stands before it; it takes loopback only (`settings.py`).
11. Sessions cannot be made while it runs.
   Upstream: #363, PR #219.
   Here: a pool of CompIDs from the start.
12. Select, with descriptors above 1,024, aborts the process.
   Upstream: #426.
   Here: ThreadedSocketAcceptor, which polls.
13. Messages are kept for ResendRequests without a bound.
   Upstream: #283.
   Here: PersistMessages=N (`settings.py`).
14. A field of no dictionary within a group breaks the group.
   Upstream: PR #147.
   Here: BookSequence(5083) stands behind the group; bodies are text that it does not
   parse (`engine_session.py`).
15. Logs show passwords.
   Upstream: none found; FileLog.cpp.
   Here: the engine gets a ticket, no key (`first_message.py`); `journal.py` masks the
   rest.
16. A log that Python made is freed twice.
   Upstream: none found; Python has logs since PR #552.
   Here: `__disown__` in `journal.py`.
17. A session that was logged out takes no Logon until it is allowed to.
   Upstream: none found; Session.cpp, logout.
   Here: `allow_logons` in `engine_session.py`.
18. Each session has a copy of the dictionary, 2.6 MB.
   Upstream: none found; SessionFactory.cpp.
   Here: one for all (`settings.py`).
19. Its end waits for threads that do not end.
   Upstream: none found; ThreadedSocketAcceptor.cpp, onStop.
   Here: `run_fix_acceptor` ends the process after 9 seconds.
20. A field of type data is read for as long as the field before it says: a length that
   is negative, or longer than the message, ends the process. Tags wrap around at 2³².
   Upstream: none found; Message.cpp, extractField.
   Here: `inbound.py` lets no such field pass, nor a tag of more than 9 digits.
21. Messages ahead of one that is missing are kept without a bound, and no callback
   hears of them.
   Upstream: none found; Session.cpp, doTargetTooHigh.
   Here: `journal.py` hears of each, `session.py` ends the session.
"""
