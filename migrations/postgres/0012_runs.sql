-- What people keep of lists: the address of a page under a name.
CREATE TABLE saved_view (
    id         uuid   NOT NULL PRIMARY KEY,
    person     uuid   NOT NULL,
    page       text   NOT NULL CHECK (page IN ('operations', 'unknown')),
    name       text   NOT NULL,
    query      text   NOT NULL,
    created_at bigint NOT NULL
);
CREATE UNIQUE INDEX saved_view_by_name ON saved_view (person, page, name);

-- Runs that act on everything that a filter said at one moment. A claim is a process's right to work it, for a while.
CREATE TABLE run (
    id            uuid   NOT NULL PRIMARY KEY,
    person        uuid   NOT NULL,
    version       bigint NOT NULL CHECK (version >= 1),
    standing      text   NOT NULL CHECK (standing IN ('proposed', 'running', 'ended')),
    content       text   NOT NULL,
    claimed_by    text,
    claimed_until bigint,
    CHECK ((claimed_by IS NULL) = (claimed_until IS NULL))
);
CREATE INDEX run_to_work ON run (id) WHERE standing = 'running';

CREATE TABLE run_item (
    run       uuid   NOT NULL,
    number    bigint NOT NULL CHECK (number >= 1),
    operation uuid   NOT NULL,
    outcome   text   CHECK (outcome IN ('applied', 'skipped', 'refused')),
    told      text,
    PRIMARY KEY (run, number),
    CHECK ((outcome IS NULL) = (told IS NULL))
);
