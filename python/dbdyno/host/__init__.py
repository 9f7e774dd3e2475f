"""The machine that measures: what it is (recorded with each run), what it lacks, what it does.

Everything is read from procfs and sysfs below a root folder that is an argument, so that
tests read the trees of other machines. Nothing here changes the machine.
"""
