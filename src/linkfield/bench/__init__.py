"""linkfield beside others, timed on the user's own machine."""
