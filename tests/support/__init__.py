"""What several tests need: reference implementations, made documents and files, real corpora, running commands."""
