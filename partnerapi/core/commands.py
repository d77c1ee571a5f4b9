from argparse import RawDescriptionHelpFormatter

from django.core.management.base import BaseCommand


class CommandWithExamples(BaseCommand):
    """Its `help` is shown line by line as it is written: a sentence, then examples."""

    def create_parser(self, *args, **kwargs):
        kwargs["formatter_class"] = RawDescriptionHelpFormatter
        return super().create_parser(*args, **kwargs)
