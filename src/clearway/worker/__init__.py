"""Those who work without a person: they take what others ask for, let a client or a model do it, and hand it back."""
