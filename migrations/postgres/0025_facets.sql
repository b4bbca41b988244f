-- Which combinations of company, workflow, source system and action there are. A list looked for them by leaping over the index of all
-- operations, one search for each: 650 of them took longer than everything else for a page.
CREATE TABLE facet (
    company       TEXT COLLATE "C" NOT NULL,
    workflow      TEXT COLLATE "C" NOT NULL,
    source_system TEXT COLLATE "C" NOT NULL,
    action        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (company, workflow, source_system, action)
);
INSERT INTO facet SELECT DISTINCT company, workflow, source_system, action FROM operation;

-- A stretch of an index ends where its first column changes: asked for a row of several columns and no more, PostgreSQL reads on to there,
-- whatever the others hold. So the combination is one column, the start of its SHA-256; a name holds no control character. What a list
-- looks at in a row stands beside it.
CREATE FUNCTION facet_of(company TEXT, workflow TEXT, source_system TEXT, action TEXT) RETURNS UUID
LANGUAGE SQL IMMUTABLE PARALLEL SAFE AS $$
    SELECT substr(encode(sha256(convert_to(
        company || chr(31) || workflow || chr(31) || source_system || chr(31) || action, 'UTF8')), 'hex'), 1, 32)::uuid
$$;
ALTER TABLE operation
    ADD COLUMN facet UUID NOT NULL GENERATED ALWAYS AS (facet_of(company, workflow, source_system, action)) STORED;
-- What is uncertain is added up on the overview and counted on every page.
DROP INDEX operation_uncertain;
CREATE INDEX operation_uncertain ON operation (state_since, id) INCLUDE (company, workflow, currency, ten_thousandths)
    WHERE state IN ('unknown', 'disputed');
DROP INDEX operation_by_facet;
CREATE INDEX operation_by_facet ON operation (facet, id) INCLUDE (ten_thousandths, worker);
DROP INDEX operation_left;
CREATE INDEX operation_left ON operation (facet, state, id) INCLUDE (ten_thousandths, worker)
    WHERE state IN ('awaiting_approval', 'rejected', 'released', 'failed', 'unknown', 'disputed');
