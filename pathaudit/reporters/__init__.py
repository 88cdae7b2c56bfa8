"""One module per output format, each with ``render(report, out)``.

A reporter sees ``results`` and nothing else, and escapes what comes from the audited code.
"""
