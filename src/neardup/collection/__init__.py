"""The living collection: documents that come, change and go, and questions about what is like them."""
