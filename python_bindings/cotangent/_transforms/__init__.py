"""Transforms of functions and control flow: derivatives, batching, masks, compilation, rules of the user's, loops and branches."""
