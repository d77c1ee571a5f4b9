"""Inlines the folding of names, so that a search calls no function for each row."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.search_fold(said text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT pg_catalog.btrim(pg_catalog.regexp_replace(
        pg_catalog.replace(pg_catalog.replace(
        pg_catalog.replace(pg_catalog.replace(
            pg_catalog.translate(
                pg_catalog.lower(pg_catalog.regexp_replace(
                    normalize(said, NFKD), '[\u0300-\u036f]', '', 'g')),
                'øłđðıħ', 'olddih'),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        '[\u0001-\u0020\u00a0\u2000-\u200b\u3000]+', ' ', 'g'))
$$;
GRANT EXECUTE ON FUNCTION public.search_fold(text) TO PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.search_fold(said text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT btrim(regexp_replace(
        replace(replace(replace(replace(
            translate(
                lower(regexp_replace(
                    normalize(said, NFKD), '[\u0300-\u036f]', '', 'g')),
                'øłđðıħ', 'olddih'),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        '[\u0001-\u0020\u00a0\u2000-\u200b\u3000]+', ' ', 'g'))
$$;
GRANT EXECUTE ON FUNCTION public.search_fold(text) TO PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0116_bust_requests"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
