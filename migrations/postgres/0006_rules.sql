-- Rules that people set in the browser, and periods that finance closes.

-- When and by whom a version came; unknown for those that are older than this migration.
ALTER TABLE workflow ADD COLUMN changed_at BIGINT;
ALTER TABLE workflow ADD COLUMN changed_by TEXT;

-- Proposed changes of a workflow's rules. `proposal` is the whole record as JSON; the other columns are what is searched by.
CREATE TABLE rule_proposal (
    id         UUID    NOT NULL PRIMARY KEY,
    workflow   TEXT    NOT NULL,
    standing   TEXT    NOT NULL CHECK (standing IN ('open', 'approved', 'rejected', 'withdrawn', 'void')),
    version    BIGINT,
    volatile   BOOLEAN NOT NULL,
    key_fields BOOLEAN NOT NULL,
    amendment  BOOLEAN NOT NULL,
    proposal   TEXT    NOT NULL,
    CHECK ((standing = 'approved') = (version IS NOT NULL))
);
-- One waits at a time for each workflow.
CREATE UNIQUE INDEX rule_proposal_open ON rule_proposal (workflow) WHERE standing = 'open';
CREATE INDEX rule_proposal_by_workflow ON rule_proposal (workflow, id);
-- Who approved what is in force.
CREATE INDEX rule_proposal_approved ON rule_proposal (workflow, version) WHERE standing = 'approved';

-- The day by which an operation belongs to a period, where its workflow reads it from the payload; all others belong to the day on
-- which they were first begun. Days are texts: 2026-04-01.
CREATE TABLE dated (
    operation UUID NOT NULL PRIMARY KEY,
    company   TEXT NOT NULL,
    day       TEXT COLLATE "C" NOT NULL CHECK (length(day) = 10)
);
CREATE INDEX dated_by_day ON dated (company, day, operation);

-- Periods that were closed. `period` is the whole record as JSON, with its certificate.
CREATE TABLE period (
    id       UUID NOT NULL PRIMARY KEY,
    company  TEXT NOT NULL,
    from_day TEXT COLLATE "C" NOT NULL CHECK (length(from_day) = 10),
    to_day   TEXT COLLATE "C" NOT NULL CHECK (length(to_day) = 10),
    standing TEXT NOT NULL CHECK (standing IN ('closed', 'reopened')),
    period   TEXT NOT NULL,
    CHECK (from_day <= to_day)
);
-- Which closed period a day of a company lies in.
CREATE INDEX period_closed ON period (company, to_day) WHERE standing = 'closed';
CREATE INDEX period_by_company ON period (company, id);
