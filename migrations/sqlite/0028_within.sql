-- Amendments are listed within the companies of whoever looks. The company and the workflow of the operation never change, so that they
-- may stand here too.
ALTER TABLE amendment ADD COLUMN company TEXT NOT NULL DEFAULT '';
ALTER TABLE amendment ADD COLUMN workflow TEXT NOT NULL DEFAULT '';
UPDATE amendment SET company = (SELECT operation.company FROM operation WHERE operation.id = amendment.operation),
                     workflow = (SELECT operation.workflow FROM operation WHERE operation.id = amendment.operation);
DROP INDEX amendment_by_state;
CREATE INDEX amendment_by_state ON amendment (state, id, company, workflow);
CREATE INDEX amendment_by_company_and_state ON amendment (company, state, id, workflow);
CREATE INDEX amendment_by_id ON amendment (id, company, workflow);
CREATE INDEX amendment_by_company ON amendment (company, id, workflow);

-- What a list of conflicts looks at in a row stands in the index that it walks through, the condition of the index too.
DROP INDEX conflict_open_by_company;
CREATE INDEX conflict_open_by_company ON conflict (company, id, workflow, is_open, grouping_key, hits, opened_at) WHERE is_open = 1;
CREATE INDEX conflict_open_by_workflow ON conflict (workflow, id, company, is_open, grouping_key, hits, opened_at) WHERE is_open = 1;
DROP INDEX conflict_open_by_group;
CREATE INDEX conflict_open_by_group ON conflict (grouping_key, id, company, workflow, is_open) WHERE is_open = 1;
DROP INDEX conflict_decided;
CREATE INDEX conflict_decided ON conflict (id, company, workflow, is_open) WHERE is_open = 0;
DROP INDEX conflict_decided_by_company;
CREATE INDEX conflict_decided_by_company ON conflict (company, id, workflow, is_open) WHERE is_open = 0;
DROP INDEX conflict_decided_by_workflow;
CREATE INDEX conflict_decided_by_workflow ON conflict (workflow, id, company, is_open) WHERE is_open = 0;
DROP INDEX conflict_decided_by_group;
CREATE INDEX conflict_decided_by_group ON conflict (grouping_key, id, company, workflow, is_open) WHERE is_open = 0;
