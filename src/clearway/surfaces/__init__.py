"""The faces of the house: each translates between its outside and the catalogue, and decides nothing."""
