"""Workers with stand-ins for their clients. A package, since other folders have files of the same names."""
