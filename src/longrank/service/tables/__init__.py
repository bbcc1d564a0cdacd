"""The store's tables: the SQL of each, the same for every database."""
