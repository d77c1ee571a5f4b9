"""Documents that anyone may read at their URL."""

from django.db import models
from django.db.models import Exists, OuterRef, Q

from issuers.models import Article, Document, Issuer
from issuers.offerings.models import Offering


def public_documents(
    documents: models.QuerySet[Document] | None = None,
) -> models.QuerySet[Document]:
    """The public ones of some or all documents: logos, covers of published articles,
    and documents of offerings that were opened."""
    if documents is None:
        documents = Document.objects.all()
    covers = Article.objects.published().filter(cover_image=OuterRef("pk"))
    logos = Issuer.objects.filter(company_logo=OuterRef("pk"))
    offered = Offering.objects.exclude(opened_by="").naming([OuterRef("pk")])
    return documents.filter(Q(Exists(logos)) | Q(Exists(covers)) | Q(Exists(offered)))
