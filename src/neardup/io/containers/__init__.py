"""Files that hold other files: archives, mailboxes, and compressed files."""
