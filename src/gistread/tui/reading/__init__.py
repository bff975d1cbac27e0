"""What a person does on the reading screen, a part a module; `screens/reading.py` puts them together."""
