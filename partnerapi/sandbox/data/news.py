"""Articles of invented companies: published ones and drafts."""
# ruff: noqa: E501

from django.utils.text import slugify

from issuers.models import Article, Document, Issuer
from partnerapi.core.uuids import derived_uuid7
from partnerapi.sandbox.data.chance import dice, moment_after
from partnerapi.sandbox.data.companies import Company
from partnerapi.sandbox.data.pictures import cover

STORIES = (
    ("{name} joins the platform", "Shares of {name} can now be held as tokens.", "Our shareholders asked for a register that is always up to date. From today the shares of **{name}** are kept on the platform, and every holder sees the holding on the day of the trade."),
    ("A second site in {city}", "The new hall opens next spring and brings forty jobs.", "We have signed the lease for a second site in {city}.\n\nThe company {activity}; the order book has outgrown the first hall. Work begins next month."),
    ("Results: what changed this year", "Revenue, margin and what we expect.", "The board has approved the annual accounts. The figures stand in our key financial data.\n\n{market}"),
    ("Letter to our shareholders", None, "Dear shareholders,\n\nthank you for a year in which {name} kept its promises and one deadline fewer than planned. We {lesson}.\n\nThe board"),
    ("General meeting: the agenda", "Seven items, one of them a change of the articles.", "The general meeting takes place in {city}. Holders of tokens vote online.\n\n1. Accounts\n2. Discharge of the board\n3. Appropriation of the result\n4. Auditor\n5. Articles of association\n6. Authorised capital\n7. Questions"),
    ("How we measure our footprint", "Scope 1, 2 and, from this year on, 3.", "For the first time the report covers what our suppliers emit. The method follows the GHG protocol; an auditor has read it."),
    ("Why {name} pays no dividend this year", None, "The result is carried forward. {market} We would rather be early than generous."),
)  # fmt: skip
LESSONS = (
    "have learned to count inventory twice",
    "now answer every letter within a week",
    "sold the machine that no one could repair",
    "hired before we needed to, and were glad of it",
)


def articles(company: Company, issuer: Issuer) -> tuple[list[Article], list[Document]]:
    """Some of the stories, with the covers that they show."""
    chance = dice("news", company.slug)
    stories = [STORIES[0], *chance.sample(STORIES[1:], chance.randrange(1, 6))]
    rows, covers = [], []
    for number, (title, summary, body) in enumerate(stories):
        words = {
            "name": company.name,
            "city": company.city,
            "activity": company.activity,
            "market": company.market,
            "lesson": chance.choice(LESSONS),
        }
        title = title.format(**words)
        slug = slugify(title)
        days = 3 + 140 * number + chance.randrange(60)
        at = moment_after(issuer.created_at, days, company.slug, slug)
        picture = cover(company, number, at) if chance.random() < 0.35 else None
        if picture:
            covers.append(picture)
        # The first is always out, so that every company has news.
        is_draft = number > 0 and chance.random() < 0.25
        elsewhere = f"https://news.example/{company.slug}/{slug}"
        rows.append(
            Article(
                id=derived_uuid7(at, f"{company.slug} article {slug}"),
                issuer=issuer,
                title=title,
                slug=slug,
                summary=summary and summary.format(**words),
                body=body.format(**words),
                url=elsewhere if chance.random() < 0.5 else None,
                published_at=None if is_draft else at,
                cover_image=picture,
                created_at=at,
            )
        )
    return rows, covers
