-- For how long operations had been uncertain, as it stood when it was last looked at on a day (milliseconds of its midnight, UTC). What is
-- settled later is gone from the operations' own rows: this is what remembers it.
CREATE TABLE uncertain_age (
    day         BIGINT NOT NULL,
    workflow    TEXT   NOT NULL,
    company     TEXT   NOT NULL,
    within_hour BIGINT NOT NULL CHECK (within_hour >= 0),
    within_day  BIGINT NOT NULL CHECK (within_day >= 0),
    within_week BIGINT NOT NULL CHECK (within_week >= 0),
    longer      BIGINT NOT NULL CHECK (longer >= 0),
    PRIMARY KEY (day, workflow, company)
);
