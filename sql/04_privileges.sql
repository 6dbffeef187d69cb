-- 04_privileges
--	  Names and counts are public, resets and settings are the superuser's.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lwtune;
RESET client_min_messages;

CREATE ROLE regress_lwtune_plain;
CREATE ROLE regress_lwtune_monitor IN ROLE pg_monitor;

\dx lwtune
SELECT has_function_privilege('regress_lwtune_plain', oid, 'EXECUTE') AS plain, proname
  FROM pg_proc WHERE proname LIKE 'lwtune\_%' ORDER BY proname COLLATE "C";

SET ROLE regress_lwtune_plain;
SELECT count(*) > 0 AS readable FROM lwtune_status;
SELECT count(*) > 0 AS readable FROM lwtune_settings;
SELECT count(*) > 0 AS readable FROM lwtune_stats;
SHOW lwtune.spin_time;
SELECT lwtune_reset();
SELECT lwtune_reset('WALInsert');
INSERT INTO lwtune_stats (tranche) VALUES ('x');
ALTER SYSTEM SET lwtune.spin_time = 'auto';
SET lwtune.track = 'none';
DROP EXTENSION lwtune;
RESET ROLE;

SET ROLE regress_lwtune_monitor;
SELECT lwtune_reset();
RESET ROLE;

-- the superuser may let others
GRANT EXECUTE ON FUNCTION lwtune_reset(text) TO regress_lwtune_monitor;
SET ROLE regress_lwtune_monitor;
SELECT lwtune_reset('NotifyQueue');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION lwtune_reset(text) FROM regress_lwtune_monitor;

-- to be installed where nobody but the superuser may put it
DROP EXTENSION lwtune;
SET ROLE regress_lwtune_plain;
CREATE EXTENSION lwtune;
RESET ROLE;
CREATE SCHEMA regress_lwtune;
CREATE EXTENSION lwtune SCHEMA regress_lwtune;
SELECT count(*) > 0 AS readable FROM regress_lwtune.lwtune_stats;
ALTER EXTENSION lwtune SET SCHEMA public;
SELECT count(*) > 0 AS readable FROM lwtune_stats;
DROP SCHEMA regress_lwtune;

DROP ROLE regress_lwtune_plain, regress_lwtune_monitor;
