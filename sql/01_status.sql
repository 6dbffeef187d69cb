-- 01_status
--	  The server runs with lwtune's locks, function by function.
CREATE EXTENSION lwtune;

\d lwtune_status
SELECT function, state, reason, calls > 0 AS seen_by_self_test
  FROM lwtune_status ORDER BY function COLLATE "C";

-- settings that say what they are, none of them set
SELECT name, setting, context, vartype, pending_restart
  FROM pg_settings WHERE name LIKE 'lwtune.%' AND name <> 'lwtune.pause_ns'
 ORDER BY name COLLATE "C";
SELECT name, setting::float8 > 0 AS measured, context
  FROM pg_settings WHERE name = 'lwtune.pause_ns';

-- no mapping of the server is both writable and executable
SELECT count(*) AS writable_and_executable
  FROM regexp_split_to_table(pg_read_file('/proc/self/maps'), '\n') AS line
 WHERE line ~ '^\S+ .wx';
