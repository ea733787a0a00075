"""The purposes of options, under which the help of a long command shows them."""

INPUT, ACCESS, COMPARED, SEARCH, GROUPS = "Input", "Access", "What is compared", "Search", "Groups"
STAY, EARLIER, OUTPUT, WORK, OTHER = "Documents that stay", "Earlier results", "Output", "Work", "Help"

PANELS = (INPUT, ACCESS, COMPARED, SEARCH, GROUPS, STAY, EARLIER, OUTPUT, WORK, OTHER)
"""The purposes, in the order of the help."""
