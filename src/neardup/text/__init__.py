"""Text: normalised, tokenised, cut into units, as everything else means it."""
