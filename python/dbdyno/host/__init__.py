"""The host: its properties (recorded with each run), its problems, and its activity.

Everything is read from procfs and sysfs below a root folder that is an argument, so that tests can
read the files of other hosts. Nothing here changes the host.
"""
