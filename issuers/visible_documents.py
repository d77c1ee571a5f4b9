"""Documents that a caller may read at their URL."""

from django.db import models
from django.db.models import Exists, OuterRef, Q

from accounts.access import Caller
from issuers.models import Article, Document, Issuer
from issuers.offerings.models import Offering


def visible_documents(
    caller: Caller | None, documents: models.QuerySet[Document] | None = None
) -> models.QuerySet[Document]:
    """Those of some or all documents that the caller may read, None: anyone: logos,
    covers of published articles, and documents of the offerings that it may see."""
    if documents is None:
        documents = Document.objects.all()
    covers = Article.objects.published().filter(cover_image=OuterRef("pk"))
    logos = Issuer.objects.filter(company_logo=OuterRef("pk"))
    offered = Offering.objects.visible_to(caller).naming([OuterRef("pk")])
    return documents.filter(Q(Exists(logos)) | Q(Exists(covers)) | Q(Exists(offered)))
