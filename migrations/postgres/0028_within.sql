-- Amendments are listed within the companies of whoever looks. The company and the workflow of the operation never change, so that they
-- may stand here too.
ALTER TABLE amendment ADD COLUMN company TEXT NOT NULL DEFAULT '';
ALTER TABLE amendment ADD COLUMN workflow TEXT NOT NULL DEFAULT '';
UPDATE amendment SET company = operation.company, workflow = operation.workflow
    FROM operation WHERE operation.id = amendment.operation;
DROP INDEX amendment_by_state;
CREATE INDEX amendment_by_state ON amendment (state, id) INCLUDE (company, workflow);
CREATE INDEX amendment_by_company_and_state ON amendment (company, state, id) INCLUDE (workflow);
CREATE INDEX amendment_by_id ON amendment (id) INCLUDE (company, workflow);
CREATE INDEX amendment_by_company ON amendment (company, id) INCLUDE (workflow);

-- What a list of conflicts looks at in a row stands in the index that it walks through.
DROP INDEX conflict_open_by_company;
CREATE INDEX conflict_open_by_company ON conflict (company, id) INCLUDE (workflow, grouping_key, hits, opened_at) WHERE is_open;
CREATE INDEX conflict_open_by_workflow ON conflict (workflow, id) INCLUDE (company, grouping_key, hits, opened_at) WHERE is_open;
DROP INDEX conflict_open_by_group;
CREATE INDEX conflict_open_by_group ON conflict (grouping_key, id) INCLUDE (company, workflow) WHERE is_open;
DROP INDEX conflict_decided;
CREATE INDEX conflict_decided ON conflict (id) INCLUDE (company, workflow) WHERE NOT is_open;
DROP INDEX conflict_decided_by_company;
CREATE INDEX conflict_decided_by_company ON conflict (company, id) INCLUDE (workflow) WHERE NOT is_open;
DROP INDEX conflict_decided_by_workflow;
CREATE INDEX conflict_decided_by_workflow ON conflict (workflow, id) INCLUDE (company) WHERE NOT is_open;
DROP INDEX conflict_decided_by_group;
CREATE INDEX conflict_decided_by_group ON conflict (grouping_key, id) INCLUDE (company, workflow) WHERE NOT is_open;
