-- How PostgreSQL vacuums tables that grow. SQLite has nothing of the kind; the number stays the same in both dialects.
SELECT 1;
