from django.contrib import admin

# Tests are made for each page that is registered.
admin.autodiscover()
