"""Who is here, what each holds, and what they say."""
