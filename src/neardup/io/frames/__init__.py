"""Documents that are objects of the caller: frames, lists, streams; read, and given back in their type."""
