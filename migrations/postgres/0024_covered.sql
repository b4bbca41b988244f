-- What a list looks at in each row stands in SQLite's indexes since then. Rows of PostgreSQL are found by their place, not by another search;
-- the number stays the same in both dialects.
SELECT 1;
