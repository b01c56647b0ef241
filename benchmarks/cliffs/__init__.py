"""Programs that nobody here has tuned for: is any slower than the code it replaces?"""
