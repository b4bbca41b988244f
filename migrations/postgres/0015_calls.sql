-- What automations asked through the API and what they were answered: a log that is bounded, without secrets.
CREATE TABLE call (
    id            uuid   NOT NULL PRIMARY KEY,
    token         uuid   NOT NULL,
    at            bigint NOT NULL,
    microseconds  bigint NOT NULL CHECK (microseconds >= 0),
    method        text   NOT NULL,
    endpoint      text   NOT NULL,
    path          text   NOT NULL,
    status        bigint NOT NULL CHECK (status BETWEEN 100 AND 999),
    problem       text,
    detail        text,
    workflow      text,
    company       text,
    source_system text,
    document      text,
    action        text,
    revision      bigint,
    operation     uuid,
    decision      text,
    request_id    text   NOT NULL,
    request       text,
    request_bytes bigint NOT NULL CHECK (request_bytes >= 0)
);
-- Ids are ordered by their moment: the list of everything walks the primary key, that of a token this.
CREATE INDEX call_by_token ON call (token, id);
