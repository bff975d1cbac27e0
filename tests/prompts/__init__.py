"""What `prompts/` promises."""
