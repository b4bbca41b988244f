-- Tables that grow for as long as the store lives, and whose rows stay as they were written: they are vacuumed by what was added, not by
-- a share of what there is, and what was added is frozen at once. The work follows the rows that are new; what is old is never read
-- again for it, not even when transaction numbers wrap around. See docs/SCALE.md for what that is worth.
ALTER TABLE entry SET (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
                       autovacuum_freeze_min_age = 0);
ALTER TABLE look_alike SET (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
                            autovacuum_freeze_min_age = 0);
ALTER TABLE delivery SET (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
                          autovacuum_freeze_min_age = 0);
-- The same for bodies, which are written once and are taken out whole, long afterwards or never.
ALTER TABLE body SET (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
                      autovacuum_freeze_min_age = 0);
-- Rows that are changed in place: with room on their page, a change that touches no index stays on it and leaves the indexes alone
-- (a repetition that is counted at its operation; a count that rises). A begin and its outcome always touch indexes.
ALTER TABLE operation SET (fillfactor = 85);
ALTER TABLE count SET (fillfactor = 70);
