"""Turn a report or a stack into text, one module per format; see `interface` for how to add one."""
