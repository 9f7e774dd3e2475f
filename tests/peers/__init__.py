"""Other tools' command lines and output, side by side with the tools themselves."""
