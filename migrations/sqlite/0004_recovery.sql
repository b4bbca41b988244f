-- Lost answers become known: when an unknown operation is looked for at its destination, and how a destination may be asked.

-- One row for each unknown operation whose destination has a lookup; gone when the operation is no longer unknown. A claim is a
-- process's right to look for it, for a while; what is right rests on the operation's version alone.
CREATE TABLE recovery (
    operation         BLOB    NOT NULL PRIMARY KEY CHECK (length(operation) = 16),
    destination       TEXT    NOT NULL,
    since             INTEGER NOT NULL,
    last_write_at     INTEGER NOT NULL,
    due_at            INTEGER NOT NULL,
    lookups           INTEGER NOT NULL CHECK (lookups >= 0),
    first_negative_at INTEGER,
    last_at           INTEGER,
    last_answer       TEXT,
    last_reason       TEXT,
    claimed_by        TEXT,
    claimed_until     INTEGER,
    exhausted_at      INTEGER,
    CHECK ((last_at IS NULL) = (last_answer IS NULL)),
    CHECK (last_reason IS NULL OR last_answer IS NOT NULL),
    CHECK ((claimed_by IS NULL) = (claimed_until IS NULL))
) STRICT, WITHOUT ROWID;
-- What is due at a destination, the longest due first.
CREATE INDEX recovery_due ON recovery (destination, due_at, operation) WHERE exhausted_at IS NULL;
-- What is no longer looked for.
CREATE INDEX recovery_exhausted ON recovery (operation) WHERE exhausted_at IS NOT NULL;

-- How each destination may be asked: its circuit, which is open while it is down, and up to when lookups have been permitted.
CREATE TABLE access (
    destination TEXT    NOT NULL PRIMARY KEY,
    version     INTEGER NOT NULL CHECK (version >= 1),
    failures    INTEGER NOT NULL CHECK (failures >= 0),
    down_since  INTEGER,
    down_reason TEXT,
    probes      INTEGER,
    probe_at    INTEGER,
    paced_until INTEGER NOT NULL,
    CHECK ((down_since IS NULL) = (down_reason IS NULL) AND (down_since IS NULL) = (probes IS NULL)
           AND (down_since IS NULL) = (probe_at IS NULL))
) STRICT, WITHOUT ROWID;
