-- Scheduled pulls of destinations' lists: when the last one went well, what failed since, who is at it. Whoever changes a row raises its
-- version.
CREATE TABLE pull_schedule (
    workflow TEXT   NOT NULL,
    company  TEXT   NOT NULL,
    version  BIGINT NOT NULL CHECK (version >= 1),
    content  TEXT   NOT NULL,
    PRIMARY KEY (workflow, company)
);
