"""The only modules that touch files: formats, readers, writers."""
