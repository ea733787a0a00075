"""Files on other machines: object stores and servers on the web, read once and written whole."""
