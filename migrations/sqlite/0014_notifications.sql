-- Notifications: who is told of what waits for people, what was told, and what is on its way.

CREATE TABLE notification_channel (
    name       TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What was told, one row for each group: what became due up to told_until. Whoever tells raises the version.
CREATE TABLE notification_group (
    channel    TEXT    NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('unknown.overdue', 'incident.opened', 'amendment.waiting', 'rules.waiting')),
    subject    TEXT    NOT NULL,
    version    INTEGER NOT NULL CHECK (version >= 1),
    told_at    INTEGER NOT NULL,
    told_until INTEGER NOT NULL,
    PRIMARY KEY (channel, kind, subject)
) STRICT, WITHOUT ROWID;

-- Messages on their way: written with the group that they tell, gone when they were taken or given up. A claim is a process's right to
-- send it, for a while.
CREATE TABLE notification_message (
    id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    channel       TEXT    NOT NULL,
    recipient     TEXT,
    facts         TEXT    NOT NULL,
    made_at       INTEGER NOT NULL,
    due_at        INTEGER NOT NULL,
    tries         INTEGER NOT NULL CHECK (tries >= 0),
    claimed_by    TEXT,
    claimed_until INTEGER,
    CHECK ((claimed_by IS NULL) = (claimed_until IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX notification_message_due ON notification_message (due_at, id);

-- How each channel fares; what was counted stays when the channel is taken out.
CREATE TABLE notification_state (
    channel      TEXT    NOT NULL PRIMARY KEY,
    way          TEXT    NOT NULL CHECK (way IN ('webhook', 'mail')),
    delivered    INTEGER NOT NULL CHECK (delivered >= 0),
    failed       INTEGER NOT NULL CHECK (failed >= 0),
    given_up     INTEGER NOT NULL CHECK (given_up >= 0),
    delivered_at INTEGER,
    error_at     INTEGER,
    error        TEXT,
    off_at       INTEGER,
    off_reason   TEXT,
    CHECK ((error_at IS NULL) = (error IS NULL) AND (off_at IS NULL) = (off_reason IS NULL))
) STRICT, WITHOUT ROWID;
