"""QuickFIX and its stock dictionary in tests, as a judge of what we send."""

import signal

# Importing QuickFIX makes SIGINT end the process at once, unlike pytest's handler.
interrupt = signal.getsignal(signal.SIGINT)
import quickfix as fix  # noqa: E402

signal.signal(signal.SIGINT, interrupt)

from marketdata.fix.protocol.dictionary import STOCK_DICTIONARY  # noqa: E402
from marketdata.fix.protocol.layouts import LAYOUTS  # noqa: E402
from marketdata.fix.protocol.tags import Layout  # noqa: E402

DICTIONARY = fix.DataDictionary(str(STOCK_DICTIONARY))
BY_TYPE = {layout.type: layout for layout in LAYOUTS}
GROUP_STARTS = {
    ("W", 268): 269,
    ("X", 268): 279,
    ("y", 146): 55,
    ("y", 870): 871,
    ("d", 870): 871,
    ("B", 33): 58,
}


def fields_of(message_type: str, body: str) -> list[tuple[int, str]]:
    """The fields of a body that FIX 4.4 and our own rules allow, in order."""
    assert body.endswith("\x01")
    fields = [part.split("=", 1) for part in body[:-1].split("\x01")]
    head = (
        f"35={message_type}\x0134=2\x0149=PARTNERAPI\x01"
        "52=20261120-10:00:00.000\x0156=PARTNER001\x01"
    )
    text = f"8=FIX.4.4\x019={len(head + body)}\x01{head}{body}"
    text += f"10={sum(text.encode()) % 256:03d}\x01"
    message = fix.Message(text, DICTIONARY, True)
    DICTIONARY.validate(message)
    # What the dictionary does not know inside a group would end up elsewhere.
    found = [(int(tag), value) for tag, value in fields]
    assert sorted(read(message, BY_TYPE[message_type])) == sorted(found)
    check_rules(BY_TYPE[message_type], [tag for tag, _ in found])
    return found


def read(fields: fix.FieldMap, layout: Layout, group: int = 0) -> list[tuple[int, str]]:
    """Every field that the dictionary makes of a message, its groups' too."""
    counts = {tag.group for tag in layout.tags}
    found = []
    for tag in layout.tags:
        if tag.group != group or not fields.isSetField(tag.number):
            continue
        found.append((tag.number, fields.getField(tag.number)))
        if tag.number in counts:
            for number in range(1, int(fields.getField(tag.number)) + 1):
                entry = fix.Group(tag.number, GROUP_STARTS[layout.type, tag.number])
                fields.getGroup(number, entry)
                found += read(entry, layout, tag.number)
    return found


def check_rules(layout: Layout, tags: list[int]) -> None:
    """The tags of the layout and no others; those that are always there are."""
    assert set(tags) <= {tag.number for tag in layout.tags}
    always = {tag.number for tag in layout.tags if tag.always}
    grouped = {tag.number for tag in layout.tags if tag.group}
    assert always - grouped <= set(tags)
    for count in {tag.group for tag in layout.tags if tag.group}:
        start = GROUP_STARTS[layout.type, count]
        required = {t.number for t in layout.tags if t.group == count and t.always}
        for entry in entries(tags, count, start):
            assert required <= set(entry)


def entries(tags: list[int], count: int, start: int) -> list[list[int]]:
    found: list[list[int]] = []
    if count not in tags:
        return found
    for tag in tags[tags.index(count) + 1 :]:
        if tag == start:
            found.append([])
        found[-1].append(tag)
    return found
