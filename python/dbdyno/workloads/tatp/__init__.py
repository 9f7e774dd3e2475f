"""TATP: a register of mobile phone subscribers, mostly read, in which much is asked for in vain."""
