"""What other programs take from us. A package, since other folders have files of the same names."""
