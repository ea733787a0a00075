"""Limits on the resources a file may use before it is refused: any document may be hostile."""

from __future__ import annotations

FILE_BYTES = 256 << 20
"""Size of a file. Each thread holds the bytes of one file as a whole; scans of thousands of pages stay below."""

UNPACKED_BYTES = 256 << 20
"""Unpacked size of a part of a DOCX. The markup of a book of a thousand pages is about 20 MB; a zip bomb turns
kilobytes into gigabytes."""

TEXT_CHARACTERS = 64_000_000
"""Length of the text in characters. The longest novels have 10 million."""

PAGES = 20_000
"""Pages of a PDF. A page costs milliseconds, and a small file can claim millions of pages."""

NESTED_PARTS = 100
"""Nesting depth of the parts of a mail. Forwarding a mail adds one or two levels."""

ATTACHMENTS = 1_000
"""Attachments of a mail. A mail with more is refused, since it could not be described in full."""

VALUE_CHARACTERS = 1_000
"""Length of a metadata value; longer values are cut. Subjects of a thousand characters exist."""

VALUES = 1_000
"""Addresses and names in a mail header. A list of all employees does not help to find a mail."""

SECONDS = 60.0
"""Seconds for one file: a thousand times the usual time, and the longest acceptable wait for an endless loop. The
only limit that depends on the machine; most files made to be slow reach another limit first."""

SECONDS_AGAIN = 600.0
"""Seconds for a file that was read before: a later pass must not fail because the machine is busy."""

MEMORY_BYTES = 3 << 30
"""Address space of the process that reads a file, where the system can limit it: enough for the largest file, its
decoded streams and its text."""
