"""The room in a browser. A package, since other folders have files of the same names."""
