"""The weights of gistread's starter model, a GGUF file beside this one."""
