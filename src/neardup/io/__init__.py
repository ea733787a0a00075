"""The only rooms that touch files: formats, readers, writers."""
