-- Notifications: who is told of what waits for people, what was told, and what is on its way.

CREATE TABLE notification_channel (
    name       TEXT NOT NULL PRIMARY KEY,
    definition TEXT NOT NULL
);

-- What was told, one row for each group: what became due up to told_until. Whoever tells raises the version.
CREATE TABLE notification_group (
    channel    TEXT    NOT NULL,
    kind       TEXT    NOT NULL CHECK (kind IN ('unknown.overdue', 'incident.opened', 'amendment.waiting', 'rules.waiting')),
    subject    TEXT    NOT NULL,
    version    BIGINT NOT NULL CHECK (version >= 1),
    told_at    BIGINT NOT NULL,
    told_until BIGINT NOT NULL,
    PRIMARY KEY (channel, kind, subject)
);

-- Messages on their way: written with the group that they tell, gone when they were taken or given up. A claim is a process's right to
-- send it, for a while.
CREATE TABLE notification_message (
    id            UUID   NOT NULL PRIMARY KEY,
    channel       TEXT    NOT NULL,
    recipient     TEXT,
    facts         TEXT    NOT NULL,
    made_at       BIGINT NOT NULL,
    due_at        BIGINT NOT NULL,
    tries         BIGINT NOT NULL CHECK (tries >= 0),
    claimed_by    TEXT,
    claimed_until BIGINT,
    CHECK ((claimed_by IS NULL) = (claimed_until IS NULL))
);
CREATE INDEX notification_message_due ON notification_message (due_at, id);

-- How each channel fares; what was counted stays when the channel is taken out.
CREATE TABLE notification_state (
    channel      TEXT    NOT NULL PRIMARY KEY,
    way          TEXT    NOT NULL CHECK (way IN ('webhook', 'mail')),
    delivered    BIGINT NOT NULL CHECK (delivered >= 0),
    failed       BIGINT NOT NULL CHECK (failed >= 0),
    given_up     BIGINT NOT NULL CHECK (given_up >= 0),
    delivered_at BIGINT,
    error_at     BIGINT,
    error        TEXT,
    off_at       BIGINT,
    off_reason   TEXT,
    CHECK ((error_at IS NULL) = (error IS NULL) AND (off_at IS NULL) = (off_reason IS NULL))
);
