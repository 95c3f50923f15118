"""The drawings of docs/drawings: python -m tools.site.drawings"""
