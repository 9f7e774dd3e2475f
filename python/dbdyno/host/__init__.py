"""The machine that measures: what it is (recorded with each run), and what it lacks.

Everything is read from procfs and sysfs below a root folder that is an argument, so that
tests read the trees of other machines. Nothing here changes the machine.
"""
