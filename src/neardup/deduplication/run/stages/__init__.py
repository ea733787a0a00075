"""The stages of a run, in the order of ``order.py``: functions from records to records."""
