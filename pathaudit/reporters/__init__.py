"""One module per output format, each with ``render(answer, out)``.

Reports are written by ``text``, ``json``, ``sarif``, ``github``, ``junit`` and ``comment``, the
one in Markdown, graphs by ``tree``, ``dot``, ``mermaid`` and ``json``, what changed between two
versions by ``changes``, ``sarif`` and ``github``, many versions by ``timeline``, both also by
``markdown`` and ``json``.
The other modules are their parts, from the finding or the branch down to the character.
A reporter sees ``results`` and nothing else, and escapes what comes from the audited code.
"""
