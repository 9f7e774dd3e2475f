"""The full screen of ``run --tui``: another view of the run in progress than progress lines.

It is a process of its own (``viewer``), which reads the run folder, as any other reader could: no
frame of the measurement waits for it, whatever it does. ``screen`` starts it, tells it what happens
before there is a folder, and gives the terminal back, however it ended. ``view`` draws.
"""
