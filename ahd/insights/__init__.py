"""A memory of insights: short lines on what the proposals so far have shown, for the next prompts."""
