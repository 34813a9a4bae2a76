"""Side-by-side figures: what constraints are worth, and what they cost."""
