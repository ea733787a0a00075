// Keys, and changes without a new page. Everything works without this file, by links and forms.
