"""Views alias: a write through any of them is seen by all, as in torch and NumPy.

A package, so that its files may have names that other folders use, too.
"""
