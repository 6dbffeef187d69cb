-- Contention for locks of the extension, which look themselves whether they
-- exclude.  A crash takes the tranche away with the rest of shared memory.
SELECT lwtune_torture_create('fault');
\set lock random(0, 1)
SELECT lwtune_torture_verify('fault', 300, :lock);
