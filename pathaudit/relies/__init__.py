"""What users' patches rely on: noted when a patch is added, checked on every other version.

``record`` notes, ``book`` keeps, ``relies`` checks. Nothing is imported here: a report that is
known already needs the book alone.
"""
