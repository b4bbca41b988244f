-- What the queue looks at in a row stands in its indexes: 45 ms of a page were spent on reading rows to find that they do not fit.
DROP INDEX operation_at_risk;
CREATE INDEX operation_at_risk ON operation (at_risk, state_since, id, state, company, workflow, currency)
    WHERE state IN ('unknown', 'disputed');
DROP INDEX operation_at_risk_by_company;
CREATE INDEX operation_at_risk_by_company ON operation (company, at_risk, state_since, id, state, workflow, currency)
    WHERE state IN ('unknown', 'disputed');
DROP INDEX operation_at_risk_by_workflow;
CREATE INDEX operation_at_risk_by_workflow ON operation (workflow, at_risk, state_since, id, state, company, currency)
    WHERE state IN ('unknown', 'disputed');

-- Little is disputed among what is unknown, and looked for by itself.
CREATE INDEX operation_disputed ON operation (at_risk, state_since, id, state, company, workflow, currency)
    WHERE state = 'disputed';

-- What waits is added up within the companies of whoever looks.
CREATE INDEX operation_uncertain_by_company
    ON operation (company, state_since, id, state, workflow, currency, ten_thousandths)
    WHERE state IN ('unknown', 'disputed');

-- Bursts are looked for among what is unknown.
CREATE INDEX operation_unknown ON operation (id, state, company, workflow, state_since) WHERE state = 'unknown';

-- What people have claimed, and what they keep waiting, is little beside all that is uncertain.
CREATE INDEX review_by_claim ON review (claimed_by, claimed_until, operation) WHERE claimed_by IS NOT NULL;
CREATE INDEX review_by_wait ON review (waits_until, operation) WHERE waits_until IS NOT NULL;

-- Open conflicts are counted on every page, and grouped in their queue.
DROP INDEX conflict_open;
CREATE INDEX conflict_open ON conflict (id, company, workflow, is_open, grouping_key, hits, opened_at) WHERE is_open = 1;
CREATE INDEX conflict_open_by_company ON conflict (company, id, workflow, is_open) WHERE is_open = 1;
