"""A collection over HTTP. Needs the extra ``service``."""
