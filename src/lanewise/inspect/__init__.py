"""Looking at what happened: `explain` and `profile`, as text, as a page and as a drawing."""
