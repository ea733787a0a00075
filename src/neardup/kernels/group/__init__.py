"""Leaders, links and crowds of verified pairs."""
