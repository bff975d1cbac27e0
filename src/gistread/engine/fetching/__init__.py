"""Files of models come over the network, because somebody asked for them, and never otherwise."""
