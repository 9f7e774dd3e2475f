"""Why the numbers of a run are what they are: rules over what was recorded."""
