"""Lists of which the data say how long they are: ``path = []``, ``path.append(v)`` in a loop.

`uses` finds the lists in a function's source of which all uses are known, so that nobody else can
have them, and puts hooks there. A list stays Python's until branches or iterations leave it longer
or shorter than others; from there on it is a list of the graph (`grown`). The `hooks` do either.
"""
