"""The command lines and the output of other tools: their words in, our runs, their text out.

Users' fingers, scripts and harnesses keep what they know, and get a run folder beside it. Each tool
has a folder: what its options become here is declared as data, of which its parser, its help and
its page in the manual are made. Nothing here measures, and nothing here is used by ``dbdyno run``.
"""
