-- A generated column has each row read beside the index that holds it; the expression that it is made of, with what that is made of, has not.
DROP INDEX operation_at_risk;
DROP INDEX operation_at_risk_by_company;
DROP INDEX operation_at_risk_by_workflow;
DROP INDEX operation_disputed;
ALTER TABLE operation DROP COLUMN at_risk;
CREATE INDEX operation_at_risk ON operation ((
    CASE
        WHEN ten_thousandths IS NULL THEN 0
        WHEN ten_thousandths < 10 THEN ten_thousandths
        ELSE (CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER)
              - CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER)
                % CASE WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '20' THEN 2
                       WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '50' THEN 5
                       ELSE 10 END)
             * CAST(substr('1000000000000000000', 1, length(CAST(ten_thousandths AS TEXT)) - 1) AS INTEGER)
    END
), state_since, id, ten_thousandths, state, company, workflow, currency, reason)
    WHERE state IN ('unknown', 'disputed');
CREATE INDEX operation_at_risk_by_company ON operation (company, (
    CASE
        WHEN ten_thousandths IS NULL THEN 0
        WHEN ten_thousandths < 10 THEN ten_thousandths
        ELSE (CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER)
              - CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER)
                % CASE WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '20' THEN 2
                       WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '50' THEN 5
                       ELSE 10 END)
             * CAST(substr('1000000000000000000', 1, length(CAST(ten_thousandths AS TEXT)) - 1) AS INTEGER)
    END
), state_since, id, ten_thousandths, state, workflow, currency, reason)
    WHERE state IN ('unknown', 'disputed');
CREATE INDEX operation_at_risk_by_workflow ON operation (workflow, (
    CASE
        WHEN ten_thousandths IS NULL THEN 0
        WHEN ten_thousandths < 10 THEN ten_thousandths
        ELSE (CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER)
              - CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER)
                % CASE WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '20' THEN 2
                       WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '50' THEN 5
                       ELSE 10 END)
             * CAST(substr('1000000000000000000', 1, length(CAST(ten_thousandths AS TEXT)) - 1) AS INTEGER)
    END
), state_since, id, ten_thousandths, state, company, currency, reason)
    WHERE state IN ('unknown', 'disputed');
CREATE INDEX operation_disputed ON operation ((
    CASE
        WHEN ten_thousandths IS NULL THEN 0
        WHEN ten_thousandths < 10 THEN ten_thousandths
        ELSE (CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER)
              - CAST(substr(CAST(ten_thousandths AS TEXT), 1, 2) AS INTEGER)
                % CASE WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '20' THEN 2
                       WHEN substr(CAST(ten_thousandths AS TEXT), 1, 2) < '50' THEN 5
                       ELSE 10 END)
             * CAST(substr('1000000000000000000', 1, length(CAST(ten_thousandths AS TEXT)) - 1) AS INTEGER)
    END
), state_since, id, ten_thousandths, state, company, workflow, currency, reason)
    WHERE state = 'disputed';

-- Why it is uncertain is looked at, too.
DROP INDEX operation_uncertain;
CREATE INDEX operation_uncertain
    ON operation (state_since, id, state, company, workflow, currency, ten_thousandths, reason)
    WHERE state IN ('unknown', 'disputed');
DROP INDEX operation_uncertain_by_company;
CREATE INDEX operation_uncertain_by_company
    ON operation (company, state_since, id, state, workflow, currency, ten_thousandths, reason)
    WHERE state IN ('unknown', 'disputed');

-- What incidents are made of stands in an index, so that a burst is read at once; of few companies in another one.
DROP INDEX operation_unknown;
CREATE INDEX operation_unknown ON operation (id, state, company, workflow, state_since, reason, currency, ten_thousandths)
    WHERE state = 'unknown';
CREATE INDEX operation_unknown_by_company
    ON operation (company, id, state, workflow, state_since, reason, currency, ten_thousandths)
    WHERE state = 'unknown';
