"""Set-up: what a person does once on a machine - connect the clients, look at the health, rehearse.

Nothing here runs in a hook or inside a room; these modules read and write files that belong to other products.
"""
