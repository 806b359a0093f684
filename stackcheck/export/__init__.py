"""Turn a stack into a file that other tools read, one module per target; see `interface` for how to add one."""
