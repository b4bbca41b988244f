-- Reversals: a record of the destination is taken back by an operation of its own, approved as an amendment is.

-- The checks of a table cannot be altered here, so that it is made anew: the amendment of a reversal has the correction `reverse`, and
-- the revision of the operation whose record it takes back, which may be the first.
CREATE TABLE amendment_anew (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    operation        BLOB    NOT NULL CHECK (length(operation) = 16),
    revision         INTEGER NOT NULL CHECK (revision >= 1),
    base             BLOB    NOT NULL CHECK (length(base) = 16),
    base_revision    INTEGER NOT NULL CHECK (base_revision >= 1),
    base_version     INTEGER NOT NULL CHECK (base_version >= 1),
    base_fingerprint BLOB    NOT NULL CHECK (length(base_fingerprint) = 32),
    base_reference   TEXT    NOT NULL,
    base_confirmed_at INTEGER NOT NULL,
    fingerprint      BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    changes          TEXT    NOT NULL,
    changes_total    INTEGER NOT NULL,
    proposed_by      TEXT    NOT NULL,
    behind           TEXT,
    proposal_reason  TEXT    NOT NULL,
    requested_by     TEXT,
    conflict         BLOB    CHECK (conflict IS NULL OR length(conflict) = 16),
    correction       TEXT    NOT NULL CHECK (correction IN ('amend', 'replace', 'reverse_and_repost', 'reverse')),
    rule_version     INTEGER NOT NULL CHECK (rule_version >= 1),
    because          TEXT    NOT NULL,
    approvals_needed INTEGER NOT NULL CHECK (approvals_needed >= 1),
    approvals        TEXT    NOT NULL,
    proposed_at      INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL,
    state            TEXT    NOT NULL CHECK (state IN ('awaiting_approval', 'approved', 'begun', 'rejected', 'withdrawn', 'expired',
                                                       'void')),
    settled_at       INTEGER,
    settled_by       TEXT,
    settled_reason   TEXT,
    -- The proposed payload; a body that retention may drop.
    payload          TEXT,
    CHECK ((state = 'awaiting_approval') = (settled_at IS NULL)),
    CHECK ((state IN ('rejected', 'withdrawn')) = (settled_by IS NOT NULL)),
    CHECK ((state IN ('rejected', 'withdrawn', 'void')) = (settled_reason IS NOT NULL)),
    CHECK (revision >= 2 OR correction = 'reverse')
) STRICT, WITHOUT ROWID;
INSERT INTO amendment_anew SELECT * FROM amendment;
DROP TABLE amendment;
ALTER TABLE amendment_anew RENAME TO amendment;
-- The history of a revision; its latest amendment is what a begin asks for.
CREATE INDEX amendment_by_operation ON amendment (operation, id);
-- One open proposal an operation.
CREATE UNIQUE INDEX amendment_open ON amendment (operation) WHERE state IN ('awaiting_approval', 'approved');
-- Lists, newest first, and how many wait.
CREATE INDEX amendment_by_state ON amendment (state, id);
-- What nobody decides expires.
CREATE INDEX amendment_over ON amendment (expires_at, id) WHERE state = 'awaiting_approval';
