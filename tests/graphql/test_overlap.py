"""Our rule refuses exactly the documents that graphql-core's own rule refuses."""

import random
import re

import pytest
from graphql import (
    OverlappingFieldsCanBeMergedRule,
    ValidationRule,
    build_schema,
    parse,
    validate,
)

from partnerapi.core.errors import MaxFragmentsExceeded
from partnerapi.graphql.overlap import OverlappingFieldsRule

SCHEMA = build_schema(
    """
    interface Animal { name: String! age: Int parent: Animal friends: [Animal] }
    type Cat implements Animal {
      name: String! age: Int parent: Animal friends: [Animal]
      kitten: Cat kittens: [Cat!] size(in: String): Int weight: Int! loud: Boolean
    }
    type Dog implements Animal {
      name: String! age: Int parent: Animal friends: [Animal]
      puppy: Dog! puppies: [Dog] size(in: String): Int weight: Int loud: String
    }
    type Query { animal(id: ID): Animal cat(id: ID): Cat dog: Dog }
    """
)
FIELDS = {
    "Query": ["animal", "cat", "dog", "animal(id: 1)", "cat(id: 1)", "cat(id: 2)"],
    "Animal": ["name", "age", "parent", "friends", "__typename"],
    "Cat": ["name", "kitten", "kittens", "size", 'size(in: "m")', "weight", "loud"],
    "Dog": ["name", "puppy", "puppies", "size", 'size(in: "m")', "weight", "loud"],
}
BELOW = {
    "animal": "Animal",
    "cat": "Cat",
    "dog": "Dog",
    "parent": "Animal",
    "friends": "Animal",
    "kitten": "Cat",
    "kittens": "Cat",
    "puppy": "Dog",
    "puppies": "Dog",
}
FRAGMENTS = {"A0": "Animal", "A1": "Animal", "C0": "Cat", "D0": "Dog", "C1": "Cat"}
DOCUMENTS = 2_000


def random_document(chance: random.Random) -> str:
    """Few response names and many fields, so that about half are in conflict."""

    def selection_set(type_name: str, depth: int) -> str:
        parts = []
        for _ in range(chance.choice([1, 1, 2, 2, 3])):
            roll = chance.random()
            if roll < 0.15 and depth:
                inner = chance.choice(
                    ["Animal", "Cat", "Dog"] if type_name != "Query" else ["Query"]
                )
                parts.append(f"... on {inner} {selection_set(inner, depth - 1)}")
            elif roll < 0.3 and type_name != "Query":
                parts.append(f"...{chance.choice(list(FRAGMENTS))}")
            else:
                field = chance.choice(FIELDS[type_name])
                below = BELOW.get(field.partition("(")[0], "")
                if below and not depth:
                    field, below = "__typename", ""
                alias = chance.choice(["", "", "", "", "", "x: "])
                selected = selection_set(below, depth - 1) if below else ""
                parts.append(f"{alias}{field} {selected}")
        return "{" + " ".join(parts) + "}"

    document = selection_set("Query", 3)
    fragments = {
        name: f" fragment {name} on {type_name} {selection_set(type_name, 2)}"
        for name, type_name in FRAGMENTS.items()
    }
    # Only those that are spread: another rule refuses the others.
    while spread := sorted(fragments.keys() & set(re.findall(r"\w+", document))):
        document += fragments.pop(spread[0])
    return document


def refuses(rule: type[ValidationRule], document: str) -> bool:
    return bool(validate(SCHEMA, parse(document), [rule]))


def test_refuses_what_graphql_core_refuses():
    chance = random.Random(20)
    refused = 0
    for _ in range(DOCUMENTS):
        document = random_document(chance)
        expected = refuses(OverlappingFieldsCanBeMergedRule, document)
        assert refuses(OverlappingFieldsRule, document) is expected, document
        refused += expected
    # Neither side of the comparison is rare.
    assert DOCUMENTS / 5 < refused < DOCUMENTS * 4 / 5


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            "{ x: cat { name } x: dog { name } }",
            "Fields 'x' conflict because 'cat' and 'dog' are different fields.",
        ),
        (
            '{ cat { kitten { size } kitten { size(in: "m") } } }',
            "Fields 'size' conflict because they have differing arguments.",
        ),
        (
            "{ animal { ... on Cat { weight } ... on Dog { weight } } }",
            "Fields 'weight' conflict because they return conflicting types 'Int!' and "
            "'Int'.",
        ),
    ],
)
def test_says_which_fields_conflict_and_why(document: str, message: str):
    [error] = validate(SCHEMA, parse(document), [OverlappingFieldsRule])
    assert error.message == (
        f"{message} Use different aliases on the fields to fetch both if this was "
        "intentional."
    )
    assert len(error.locations) == 2


def test_refuses_fragments_that_multiply():
    # Which fragments are merged after a path of a's and b's depends on each of the
    # path's last twenty letters: a million different merged selections.
    fragments = [
        f"fragment F{number} on Cat {{ a: kitten {{ ...F{number + 1} }} "
        f"b: kitten {{ ...F{number + 1} }} }}"
        for number in range(1, 21)
    ]
    document = " ".join(
        [
            "{ cat { ...F0 } } fragment F21 on Cat { name }",
            "fragment F0 on Cat { a: kitten { ...F0 ...F1 } b: kitten { ...F0 } }",
            *fragments,
        ]
    )
    with pytest.raises(MaxFragmentsExceeded, match="too many ways"):
        validate(SCHEMA, parse(document), [OverlappingFieldsRule])
