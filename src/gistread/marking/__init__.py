"""What a person marks in a book: places that outlive another version of its text, marks, and where they are kept."""
