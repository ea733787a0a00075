"""A server of tools for agents by the Model Context Protocol."""
