"""Text normalisation, tokens and units: the definitions used by all other packages."""
