-- An uncertain operation that a person dropped is rejected, and remembers that it may have been applied all the same.
ALTER TABLE operation ADD COLUMN dropped_at bigint CHECK (dropped_at IS NULL OR state = 'rejected');
