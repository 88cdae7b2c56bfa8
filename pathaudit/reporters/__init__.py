"""One module per output format, ``text`` and ``json``, each with ``render(report, out)``.

The other modules are the parts of ``text``, from the finding down to the character.
A reporter sees ``results`` and nothing else, and escapes what comes from the audited code.
"""
