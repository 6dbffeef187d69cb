-- Contention for a lock's variable, as WAL insertion has it.
SELECT lwtune_torture_create('fault');
\set updates random(0, 2)
\if :updates = 0
SELECT lwtune_torture_var('fault', 300, 2, 'updater');
\else
SELECT lwtune_torture_var('fault', 300, 2, 'waiter');
\endif
