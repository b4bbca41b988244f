-- Operations, their bodies, their trail, and what hangs on them. Moments are milliseconds since 1970 in UTC; ids are UUIDv7.
-- The checks say what a row must look like to be an operation; the rules of what may follow on what are in `guard`.

CREATE TABLE operation (
    id                   UUID    NOT NULL PRIMARY KEY,
    key_hash             BYTEA    NOT NULL CHECK (length(key_hash) = 16),
    workflow             TEXT    NOT NULL,
    company              TEXT    NOT NULL,
    source_system        TEXT    NOT NULL,
    document             TEXT    NOT NULL,
    action               TEXT    NOT NULL,
    revision             BIGINT NOT NULL CHECK (revision >= 1),
    state                TEXT    NOT NULL CHECK (state IN ('awaiting_approval', 'rejected', 'acquired', 'sending', 'released',
                                                           'failed', 'unknown', 'confirmed', 'disputed')),
    state_since          BIGINT,
    lease_expires_at     BIGINT,
    reason               TEXT,
    destination_reference TEXT,
    version              BIGINT NOT NULL CHECK (version >= 1),
    head                 BYTEA    NOT NULL CHECK (length(head) = 32),
    fingerprint          BYTEA    NOT NULL CHECK (length(fingerprint) = 32),
    fingerprint_scheme   BIGINT NOT NULL,
    policy_version       BIGINT NOT NULL,
    attempt              BIGINT NOT NULL CHECK (attempt >= 0),
    lease_token          TEXT,
    attempt_token        UUID,
    begin_id             TEXT,
    worker               TEXT,
    begun_at             BIGINT,
    amount               TEXT,
    currency             TEXT,
    ten_thousandths      BIGINT,
    superseded_by        UUID,
    duplicates_prevented BIGINT NOT NULL DEFAULT 0,
    open_conflicts       BIGINT NOT NULL DEFAULT 0 CHECK (open_conflicts >= 0),
    created_at           BIGINT NOT NULL,
    updated_at           BIGINT NOT NULL,
    -- A lease is held in exactly these states.
    CHECK ((state IN ('acquired', 'sending')) = (lease_expires_at IS NOT NULL)),
    CHECK ((state IN ('awaiting_approval', 'rejected', 'acquired')) = (state_since IS NULL)),
    CHECK (state <> 'confirmed' OR destination_reference IS NOT NULL),
    CHECK ((state IN ('rejected', 'failed', 'unknown', 'disputed')) = (reason IS NOT NULL)),
    CHECK ((attempt = 0) = (lease_token IS NULL)),
    CHECK ((attempt = 0) = (attempt_token IS NULL)),
    CHECK ((attempt = 0) = (begun_at IS NULL)),
    CHECK ((amount IS NULL) = (currency IS NULL) AND (amount IS NULL) = (ten_thousandths IS NULL))
);

-- The key's hash stands for the key: half the size of its text, and one comparison (architecture, "measured design traps").
CREATE UNIQUE INDEX operation_by_key ON operation (key_hash);
-- Leases that will end: small, since it holds only what is under way.
CREATE INDEX operation_by_lease ON operation (lease_expires_at) WHERE lease_expires_at IS NOT NULL;
-- The Unknown queue, the longest uncertain first.
CREATE INDEX operation_uncertain ON operation (state_since, id) WHERE state IN ('unknown', 'disputed');
-- Lists, newest first: ids are ordered by their moment.
CREATE INDEX operation_by_document ON operation (document, id);
CREATE INDEX operation_by_company ON operation (company, id);
CREATE INDEX operation_by_workflow ON operation (workflow, id);
-- Everything that is not simply done, by state.
CREATE INDEX operation_unfinished ON operation (state, id) WHERE state <> 'confirmed';
-- What a changed payload arrived for, and nobody has looked at yet.
CREATE INDEX operation_in_conflict ON operation (id) WHERE open_conflicts > 0;

-- Bodies that retention may drop: the payload, and the destination's response to the attempt that settled it.
CREATE TABLE body (
    operation UUID NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('payload', 'response')),
    content   TEXT NOT NULL,
    PRIMARY KEY (operation, kind)
);

-- The trail. Each operation is a chain; the administration is the chain whose id is sixteen zero bytes.
CREATE TABLE entry (
    chain    UUID    NOT NULL,
    sequence BIGINT NOT NULL CHECK (sequence >= 1),
    at       BIGINT NOT NULL,
    actor    TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    detail   TEXT    NOT NULL,
    hash     BYTEA    NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (chain, sequence)
);
-- What changed since the last seal.
CREATE INDEX entry_by_moment ON entry (at);

-- Every minute a seal chains the heads of the chains that changed since the last one; deleting a whole chain breaks it.
CREATE TABLE seal (
    number BIGINT NOT NULL PRIMARY KEY,
    at     BIGINT NOT NULL,
    -- Entries up to this moment are covered by this seal or one before it.
    until  BIGINT NOT NULL,
    -- 56 bytes for each chain, ordered by chain: chain (16), sequence (8, big endian), hash (32).
    heads  BYTEA    NOT NULL,
    hash   BYTEA    NOT NULL CHECK (length(hash) = 32)
);

CREATE TABLE conflict (
    id            UUID    NOT NULL PRIMARY KEY,
    operation     UUID    NOT NULL,
    fingerprint   BYTEA    NOT NULL CHECK (length(fingerprint) = 32),
    changes       TEXT    NOT NULL,
    changes_total BIGINT NOT NULL,
    payload       TEXT,
    opened_at     BIGINT NOT NULL,
    hits          BIGINT NOT NULL,
    is_open       BOOLEAN NOT NULL
);
-- The same wrong payload again is the same conflict.
CREATE UNIQUE INDEX conflict_by_payload ON conflict (operation, fingerprint);
CREATE INDEX conflict_open ON conflict (id) WHERE is_open;

CREATE TABLE evidence (
    id        UUID    NOT NULL PRIMARY KEY,
    operation UUID    NOT NULL,
    at        BIGINT NOT NULL,
    actor     TEXT    NOT NULL,
    note      TEXT    NOT NULL,
    link      TEXT
);
CREATE INDEX evidence_by_operation ON evidence (operation, id);

-- Begins that were answered without a grant, told in the history; written behind the answer.
CREATE TABLE delivery (
    id          UUID NOT NULL PRIMARY KEY,
    operation   UUID    NOT NULL,
    at          BIGINT NOT NULL,
    decision    TEXT    NOT NULL,
    conflict    UUID,
    worker      TEXT,
    delivery_id TEXT,
    request_id  TEXT
);
CREATE INDEX delivery_by_operation ON delivery (operation, id);

-- Counts by hour. `slot` keeps writers of several processes out of each other's way; readers add the slots up.
CREATE TABLE count (
    workflow        TEXT    NOT NULL,
    company         TEXT    NOT NULL,
    counted         TEXT    NOT NULL,
    hour            BIGINT NOT NULL,
    currency        TEXT    NOT NULL,
    slot            BIGINT NOT NULL,
    number          BIGINT NOT NULL,
    ten_thousandths BIGINT NOT NULL,
    PRIMARY KEY (hour, workflow, company, counted, currency, slot)
);
