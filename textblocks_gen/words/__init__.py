"""Words: where they come from, which of them may be drawn, and how lines spell them."""
