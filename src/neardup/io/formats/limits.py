"""How much a file may ask for before it is refused: documents are hostile until they have been read."""

from __future__ import annotations

FILE_BYTES = 256 << 20
"""Size of a file. Its bytes are held as a whole, once for each thread; scans of thousands of pages stay below."""

UNPACKED_BYTES = 256 << 20
"""What a part of a DOCX may unpack to. The markup of a book of a thousand pages is about 20 MB; a zip bomb
makes gigabytes of kilobytes."""

TEXT_CHARACTERS = 64_000_000
"""Length of the text. The longest novels have 10 million characters."""

PAGES = 20_000
"""Pages of a PDF. A page costs milliseconds, and a small file can claim millions of them."""

NESTED_PARTS = 100
"""How deep the parts of a mail may be nested. Forwarding a mail adds one or two."""

ATTACHMENTS = 1_000
"""Attachments of a mail. A mail with more is refused, for what it is could not be said in full."""

VALUE_CHARACTERS = 1_000
"""Length of a value of the metadata; what is longer is cut. Subjects of a thousand characters exist."""

VALUES = 1_000
"""Addresses and names of a header of a mail. A list of all employees is no way to find a mail."""

SECONDS = 60.0
"""Time for one file: a thousand times what a usual one takes, and as long as anyone wants to wait for an
endless loop. The only limit that depends on the machine; most of what is made to be slow meets another first."""

SECONDS_AGAIN = 600.0
"""Time for a file that was read before: it must not fail in a later pass because the machine is busy."""

MEMORY_BYTES = 3 << 30
"""Address space of the process that reads a file, where the system can limit it: room for the largest file, its
decoded streams and its text."""
