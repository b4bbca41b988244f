-- What the queue looks at in a row stands in its indexes, and so does what they are made of: an index that holds only at_risk of it would
-- not be read alone.
DROP INDEX operation_at_risk;
CREATE INDEX operation_at_risk ON operation (at_risk(ten_thousandths), state_since, id)
    INCLUDE (ten_thousandths, state, company, workflow, currency) WHERE state IN ('unknown', 'disputed');
DROP INDEX operation_at_risk_by_company;
CREATE INDEX operation_at_risk_by_company ON operation (company, at_risk(ten_thousandths), state_since, id)
    INCLUDE (ten_thousandths, state, workflow, currency) WHERE state IN ('unknown', 'disputed');
DROP INDEX operation_at_risk_by_workflow;
CREATE INDEX operation_at_risk_by_workflow ON operation (workflow, at_risk(ten_thousandths), state_since, id)
    INCLUDE (ten_thousandths, state, company, currency) WHERE state IN ('unknown', 'disputed');

-- Little is disputed among what is unknown, and looked for by itself.
CREATE INDEX operation_disputed ON operation (at_risk(ten_thousandths), state_since, id)
    INCLUDE (ten_thousandths, state, company, workflow, currency) WHERE state = 'disputed';

-- What waits is added up within the companies of whoever looks.
CREATE INDEX operation_uncertain_by_company ON operation (company, state_since, id)
    INCLUDE (workflow, currency, ten_thousandths, state) WHERE state IN ('unknown', 'disputed');

-- What people have claimed, and what they keep waiting, is little beside all that is uncertain.
CREATE INDEX review_by_claim ON review (claimed_by, claimed_until, operation) WHERE claimed_by IS NOT NULL;
CREATE INDEX review_by_wait ON review (waits_until, operation) WHERE waits_until IS NOT NULL;

-- What a list of unfinished states looks at in a row stands in the index, and by what bursts are found among what is unknown.
DROP INDEX operation_unfinished;
CREATE INDEX operation_unfinished ON operation (state, id)
    INCLUDE (company, workflow, source_system, action, ten_thousandths, worker, state_since) WHERE state <> 'confirmed';

-- Open conflicts are counted on every page, and grouped in their queue.
DROP INDEX conflict_open;
CREATE INDEX conflict_open ON conflict (id) INCLUDE (company, workflow, grouping_key, hits, opened_at) WHERE is_open;
CREATE INDEX conflict_open_by_company ON conflict (company, id) INCLUDE (workflow) WHERE is_open;
