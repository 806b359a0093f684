"""The words of the domain as frozen values; imports nothing of ours and does no I/O."""
