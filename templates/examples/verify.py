"""Check offline what the platform has signed. Needs Python 3.11 and `cryptography`.
verify.py proof PROOF KEYS             a holding proof, or the answer of holdingProof
verify.py statements|compare FILE... KEYS       /statements/NUMBER as one history
verify.py witnesses FILE LISTED KEYS NAMED...   whether the keys you name signed it too
verify.py ledger EXPORT [KEPT...]      TRANSACTIONS or PRICES, and kept ledgerHeads;
               EXPORT STATED KEYS      the same, and the answer of Token.statement
KEYS is /.well-known/partner-api-keys.json. Its first key, or KEYS#ID, is trusted.
Answers are JSON. Exit code: 0 proved, 1 refused, 2 used wrongly."""

import base64
import json
import sys
import zlib
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MOST = 1 << 20  # characters of a file; an export is read by lines
WRONG = (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError)
FORM: dict = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False}
SIGN = {"source": -1, "target": 1}
canonical = json.JSONEncoder(**FORM).encode


def need(is_so, sentence):
    if not is_so:
        sys.exit(f"Refused: {sentence}")


def read(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        text = file.read(MOST + 1)
    return need(len(text) <= MOST, f"{path} is too long.") or text


def answer(path, member):
    said = json.loads(read(path))
    while member not in said:
        said = next((inner for inner in said.values() if isinstance(inner, dict)), 0)
    return said


def check(text, signature, keys, kid, what):
    need(kid in keys, f"{what} is signed by {kid}, a key that is not trusted.")
    try:
        keys[kid].verify(base64.b64decode(signature), text.encode())
    except InvalidSignature:
        need(False, f"{what} is not signed by its key: it was altered.")


def public_keys(named):  # the trusted key, and those that one of them introduced
    keys, (path, _, trust) = {}, named.partition("#")
    for key in json.loads(read(path))["keys"]:
        kid, public = key["kid"], base64.urlsafe_b64decode(key["x"] + "=")
        need(kid == sha256(public).hexdigest()[:16], f"{kid} is not the id of its key.")
        if (by := key["introducedBy"]) in keys:
            said = {name: key[name] for name in ("introducedBy", "kid", "since", "x")}
            check(canonical(said), key["signature"], keys, by, f"Key {kid}")
        if by in keys or kid == (trust or kid) and not keys:
            keys[kid] = Ed25519PublicKey.from_public_bytes(public)
    return keys


def record_of(line, signature, record, salt, path, keys):
    said, node = json.loads(line), sha256(b"\0" + salt + record.encode()).digest()
    check(line, signature, keys, said["key"], f"Statement {said['number']}")
    for side, sibling in path:
        pair = sibling + node if side == "L" else node + sibling
        node = sha256(b"\1" + pair).digest()
    what = f"statement {said['number']} of {said['at']}, signed by {said['key']}"
    need(node.hex() == said["tokensRoot"], f"The record is not in {what}.")
    return json.loads(record), what


def units(text):
    is_sum = str(text).isdecimal() and len(str(text)) < 21 and int(text) < 1 << 64
    need(is_sum, f"{text} units are none, or more than 64 bits hold.")
    return int(text).to_bytes(8, "big")


def proof(files):
    keys, text = public_keys(files[1]), read(files[0]).strip()
    given = answer(files[0], "proof") if text[:1] == "{" else {"proof": text}
    need(given["proof"], "No proof: no units then, or the holder's name was erased.")
    raw = base64.urlsafe_b64decode(given["proof"] + "==")
    tail = raw[(start := 2 + int.from_bytes(raw[:2], "big")) :]
    said = json.loads(zlib.decompressobj().decompress(raw[2:start], MOST))
    sides, hashes = said["path"], [tail[n : n + 32] for n in range(96, len(tail), 32)]
    size = 32 * (3 + len(sides) + len(said["recordPath"]))
    need(len(tail) == size, "The proof was cut off, or has too much.")
    siblings = [*zip(said["recordPath"], hashes[len(sides) :], strict=True)]
    of = said["statement"], base64.b64encode(tail[:64]), said["record"], tail[80:96]
    record, by = record_of(*of, siblings, keys)
    need(len(said["user"]) == 41, f"{said['user']} is not the id of a user.")
    node = units(said["units"])
    commitment = sha256(tail[64:80] + (said["user"] + said["name"]).encode()).digest()
    node += sha256(b"\0" + node + commitment).digest()
    for side, hashed in zip(sides, hashes, strict=False):
        pair = [units(side[1:]) + hashed, node][:: 1 if side[0] == "L" else -1]
        total = int(side[1:]) + int.from_bytes(node[:8], "big")
        node = units(total) + sha256(b"\1" + b"".join(pair)).digest()
    root = units(record["held"]) + bytes.fromhex(record["holdingsRoot"])
    need(node == root, "The path does not lead to the root and units of the holdings.")
    balance, before, entries = int(said["units"]), None, int(record["entries"])
    for line in map(json.loads, given.get("entriesSince", ())):
        side = "target" if line["target"] == said["user"] else "source"
        own = (line[side], line["token"]) == (said["user"], record["token"])
        named, now = int(line[side + "Before"]), int(line["sequence"])
        follows = named == before if before else named <= entries < now
        need(own and follows, f"Before entry {now}, one of the holder's is missing.")
        balance, before = balance + int(line["amount"]) * SIGN[side], now
    later = f"entries to number {before}, to {balance}" if before else "what came later"
    held = f"{said['name']} ({said['user']}) held {said['units']} {record['symbol']}"
    return f"{held}, by {by}. Not proved: {later}."


def statements(files):
    keys, known, listed = public_keys(files[-1]), {}, {}
    for text in map(read, files[:-1]):
        if text.startswith('{"statements"'):
            rows = json.loads(text)["statements"]
            listed |= {row["number"]: row["digest"] for row in rows} or {0: None}
            continue
        line, signature, *rest = text.rstrip("\n").split("\n")
        said = json.loads(line) | {"digest": sha256(line.encode()).hexdigest()}
        number, named = said["number"], [sha256(r.encode()).hexdigest() for r in rest]
        check(line, signature, keys, said["key"], f"Statement {number}")
        is_whole = named == [said[name] for name in ("details",) if name in said]
        need(is_whole, f"The details of statement {number} were altered.")
        other = known.setdefault(number, said)["digest"]
        two = f"Two histories: statement {number} is {other} and {said['digest']}."
        need(other == said["digest"], two)
    for number in range(min(known), max(known) + 1):
        need(number in known, f"Statement {number} is not among the files.")
        said, before = known[number], known.get(number - 1)
        follows = before is None or said["previousDigest"] == before["digest"]
        need(follows, f"Statement {number} does not follow the one before it.")
        same = listed.get(number) == said["digest"] or number < min(listed, default=1e9)
        need(same, f"The listing has another statement {number}, or took it back.")
    return f"Statements {min(known)} to {number} are one history, to {said['digest']}."


def witnesses(files):
    history, line = statements([files[0], files[2]]), read(files[0]).split("\n")[0]
    listed = {it["publicKey"]: it for it in answer(files[1], "witnesses")["witnesses"]}
    for key in (named := sorted({*files[3:]})):
        need(key in listed, f"Witness {key} has not signed this statement.")
        known = {key: Ed25519PublicKey.from_public_bytes(base64.b64decode(key))}
        check(line, listed[key]["signature"], known, key, f"It, by witness {key},")
    return f"{history} {len(named)} witnesses signed it: {', '.join(named)}."


def ledger(files):
    kind, record, by, heads, at, head, held = "", {}, "a kept head", {}, 0, None, {}
    if len(files) == 3 and "keys" in json.loads(read(files[2].partition("#")[0])):
        it, keys = answer(files[1], "record"), public_keys(files[2])
        path = [(one[0], bytes.fromhex(one[1:])) for one in it["path"]]
        of = it["line"], it["signature"], it["record"], bytes.fromhex(it["salt"])
        record, by = record_of(*of, path, keys)
        heads["sequence", int(record["entries"])] = record["entryDigest"]
        heads["number", int(record["prices"])] = record["priceDigest"]
    for kept in () if record else [answer(path, "digest") for path in files[1:]]:
        heads["sequence", kept["sequence"]] = kept["digest"]
        heads["number", kept["priceNumber"]] = kept["priceDigest"]
    with open(files[0], encoding="utf-8", newline="\n") as file:
        for it in map(json.JSONDecoder(parse_int=str).decode, file):
            kind, at = "sequence" if "amount" in it else "number", at + 1
            need(it[kind] == f"{at}", f"Line {at} is of {it[kind]}: one is missing.")
            line = {n: v for n, v in it.items() if v or n != "reason"}  # of version 3
            line["token"] = it["token"]["id"] if "token" in it else record["token"]
            for side, n in SIGN.items() if line.pop("id", 0) else ():
                line[side] = user = it[side] and it[side]["user"]["id"]
                held[user] = held.get(user, 0) + n * int(it["amount"])
            if head or it["lineVersion"] != "1":
                start = head or bytes.fromhex(it["previousDigest"])
                head = sha256(start + canonical(line).encode()).digest()
            altered = f"The head after line {at} is another: a line was altered."
            need(heads.get((kind, at), now := head and head.hex()) == now, altered)
            if record and kind == "sequence" and at == int(record["entries"]):
                has = [n for user, n in held.items() if user and n]
                given = f"The entries give {sum(has)} units to {len(has)} holders."
                stated = f" {record['held']} units to {record['holders']} holders."
                need(given.endswith(stated), given)
    last = max((number for of, number in heads if of.startswith(kind)), default=0)
    need(last <= at, f"The export ends at line {at}: lines were taken away.")
    said = f"{at} lines follow each other, to the head {(head or b'').hex()}"
    return f"{said}, to line {last} as says {by}." if heads else f"{said}."


COMMANDS = {"proof": (proof, 2), "statements": (statements, 2), "ledger": (ledger, 1)}
COMMANDS |= {"compare": (statements, 3), "witnesses": (witnesses, 4)}
if __name__ == "__main__":
    name, *files = sys.argv[1:] or [""]
    if len(files) < COMMANDS.get(name, (None, 1 << 20))[1]:
        sys.exit(print(__doc__) or 2)
    try:
        sys.stdout.buffer.write(f"Proved: {COMMANDS[name][0](files)}\n".encode())
    except (*WRONG, ValueError, zlib.error):
        need(False, "a file is not there, is not what it should be, or was cut off.")
