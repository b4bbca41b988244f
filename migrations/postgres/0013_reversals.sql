-- Reversals: a record of the destination is taken back by an operation of its own, approved as an amendment is.

-- The amendment of a reversal has the correction `reverse`, and the revision of the operation whose record it takes back, which may be
-- the first.
ALTER TABLE amendment DROP CONSTRAINT amendment_revision_check;
ALTER TABLE amendment DROP CONSTRAINT amendment_correction_check;
ALTER TABLE amendment ADD CONSTRAINT amendment_revision_check CHECK (revision >= 1);
ALTER TABLE amendment ADD CONSTRAINT amendment_correction_check
    CHECK (correction IN ('amend', 'replace', 'reverse_and_repost', 'reverse'));
ALTER TABLE amendment ADD CONSTRAINT amendment_first_revision_check CHECK (revision >= 2 OR correction = 'reverse');
