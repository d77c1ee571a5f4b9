from django.contrib import admin
from django.urls import path

from partnerapi.gateway.views import graphql

urlpatterns = [
    path("graphql", graphql, name="graphql"),
    path("admin/", admin.site.urls),
]
