"""One module per format; see `stackcheck.ingest.interface` for how to add one."""
