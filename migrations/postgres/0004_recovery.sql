-- Lost answers become known: when an unknown operation is looked for at its destination, and how a destination may be asked.

-- One row for each unknown operation whose destination has a lookup; gone when the operation is no longer unknown. A claim is a
-- process's right to look for it, for a while; what is right rests on the operation's version alone.
CREATE TABLE recovery (
    operation         UUID    NOT NULL PRIMARY KEY,
    destination       TEXT    NOT NULL,
    since             BIGINT  NOT NULL,
    last_write_at     BIGINT  NOT NULL,
    due_at            BIGINT  NOT NULL,
    lookups           BIGINT  NOT NULL CHECK (lookups >= 0),
    first_negative_at BIGINT,
    last_at           BIGINT,
    last_answer       TEXT,
    last_reason       TEXT,
    claimed_by        TEXT,
    claimed_until     BIGINT,
    exhausted_at      BIGINT,
    CHECK ((last_at IS NULL) = (last_answer IS NULL)),
    CHECK (last_reason IS NULL OR last_answer IS NOT NULL),
    CHECK ((claimed_by IS NULL) = (claimed_until IS NULL))
);
-- What is due at a destination, the longest due first.
CREATE INDEX recovery_due ON recovery (destination, due_at, operation) WHERE exhausted_at IS NULL;
-- What is no longer looked for.
CREATE INDEX recovery_exhausted ON recovery (operation) WHERE exhausted_at IS NOT NULL;

-- How each destination may be asked: its circuit, which is open while it is down, and up to when lookups have been permitted.
CREATE TABLE access (
    destination TEXT    NOT NULL PRIMARY KEY,
    version     BIGINT  NOT NULL CHECK (version >= 1),
    failures    BIGINT  NOT NULL CHECK (failures >= 0),
    down_since  BIGINT,
    down_reason TEXT,
    probes      BIGINT,
    probe_at    BIGINT,
    paced_until BIGINT  NOT NULL,
    CHECK ((down_since IS NULL) = (down_reason IS NULL) AND (down_since IS NULL) = (probes IS NULL)
           AND (down_since IS NULL) = (probe_at IS NULL))
);
