-- Amendments: a reviewed change of a confirmed revision, which becomes the next one.

-- Beside the operation of the revision that it proposes, and written together with it; what came to nothing stays readable.
CREATE TABLE amendment (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    operation        BLOB    NOT NULL CHECK (length(operation) = 16),
    revision         INTEGER NOT NULL CHECK (revision >= 2),
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
    correction       TEXT    NOT NULL CHECK (correction IN ('amend', 'replace', 'reverse_and_repost')),
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
    CHECK ((state IN ('rejected', 'withdrawn', 'void')) = (settled_reason IS NOT NULL))
) STRICT, WITHOUT ROWID;
-- The history of a revision; its latest amendment is what a begin asks for.
CREATE INDEX amendment_by_operation ON amendment (operation, id);
-- One open proposal an operation.
CREATE UNIQUE INDEX amendment_open ON amendment (operation) WHERE state IN ('awaiting_approval', 'approved');
-- Lists, newest first, and how many wait.
CREATE INDEX amendment_by_state ON amendment (state, id);
-- What nobody decides expires.
CREATE INDEX amendment_over ON amendment (expires_at, id) WHERE state = 'awaiting_approval';

-- Who made a token stands behind what it proposes. The trail tells it of those that there are.
ALTER TABLE token ADD COLUMN created_by TEXT NOT NULL DEFAULT 'system:command-line';
UPDATE token SET created_by = coalesce(
    (SELECT actor FROM entry
     WHERE chain = zeroblob(16) AND kind = 'token_created'
       AND replace(json_extract(detail, '$.token'), '-', '') = lower(hex(token.id))),
    created_by);
