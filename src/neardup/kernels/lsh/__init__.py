"""Band keys, buckets and Hamming look-ups."""
