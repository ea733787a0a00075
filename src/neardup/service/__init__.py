"""A collection over HTTP. Needs the packages of ``neardup[service]``."""
