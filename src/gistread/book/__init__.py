"""Books: text, chapters and paragraphs read from files of many formats."""
