"""What no caller should do: bounded, seeded, and in processes of their own."""
