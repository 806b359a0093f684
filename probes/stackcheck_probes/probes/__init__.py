"""The probes, one subject per module; ``stackcheck_probes.registry`` lists them."""
