"""When an article is seen: from its time of publication on, by the database's clock."""

from datetime import timedelta

import pytest
from django.utils import timezone

from issuers.models import Article, Document
from issuers.visible_documents import visible_documents
from tests.characters import Ask, World
from tests.pictures import picture_bytes

LISTED = """
query ($after: String, $ids: [ID!]!) {
  issuer(slug: "lumen") {
    articles(first: 1, after: $after) {
      totalCount nodes { slug }
      pageInfo { hasNextPage hasPreviousPage endCursor }
    }
  }
  nodes(ids: $ids) { id }
}
"""


def see(ask: Ask, article: Article, after: str | None = None):
    data = ask(LISTED, {"after": after, "ids": [f"Article|{article.pk}"]}).data
    page = data["issuer"]["articles"]
    shown = [node["slug"] for node in page["nodes"]]
    return page["totalCount"], shown, page["pageInfo"], data["nodes"] != [None]


@pytest.mark.parametrize("name", ["stranger", "partner"])
def test_an_article_appears_at_its_time(name: str, world: World, request):
    ask = request.getfixturevalue(name)
    cover = Document.objects.new_document("cover.png", picture_bytes())
    cover.save()
    soon = world.draft
    soon.published_at = timezone.now() + timedelta(hours=1)
    soon.cover_image = cover
    soon.save()
    count, shown, info, by_id = see(ask, soon)
    assert (count, shown, by_id) == (1, ["hello"], False)
    assert (info["hasNextPage"], info["hasPreviousPage"]) == (False, False)
    assert cover not in visible_documents(None)
    # The same documents again: their statements are kept, and the time is not, which
    # was an earlier one.
    Article.objects.filter(pk=soon.pk).update(published_at=timezone.now())
    count, shown, info, by_id = see(ask, soon)
    assert (count, shown, by_id) == (2, ["soon"], True)
    assert (info["hasNextPage"], info["hasPreviousPage"]) == (True, False)
    assert see(ask, soon, info["endCursor"])[1] == ["hello"]
    assert cover in visible_documents(None)


def test_a_cursor_of_the_future_shows_nothing_of_it(world: World, stranger: Ask):
    Article.objects.filter(pk=world.draft.pk).update(published_at=timezone.now())
    _, [slug], info, _ = see(stranger, world.draft)
    assert slug == "soon"
    Article.objects.filter(pk=world.draft.pk).update(
        published_at=timezone.now() + timedelta(hours=1)
    )
    count, shown, page, _ = see(stranger, world.draft, info["endCursor"])
    assert (count, shown, page["hasPreviousPage"]) == (1, ["hello"], False)
