"""The sections of the report, one file each, ending in ``SECTION = …``."""
