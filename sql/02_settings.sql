-- 02_settings
--	  The settings: what is accepted, what is refused and how, what results.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lwtune;
RESET client_min_messages;

\d lwtune_settings

-- Waits until a question about lwtune_settings, which reads shared memory, is
-- answered with yes; the worker publishes by itself after a reload.
CREATE FUNCTION wait_until(condition text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	answer boolean;
BEGIN
	FOR i IN 1..1000 LOOP
		EXECUTE 'SELECT ' || condition INTO answer;
		IF answer THEN
			RETURN true;
		END IF;
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN false;
END $$;

CREATE FUNCTION value_of(tranche text, setting text) RETURNS text
LANGUAGE sql AS
	'SELECT s.value FROM lwtune_settings s WHERE s.tranche = $1 AND s.setting = $2';

--
-- Defaults
--
SELECT setting, value, source, learned, matched, count(*) > 60 AS for_all
  FROM lwtune_settings GROUP BY 1, 2, 3, 4, 5 ORDER BY 1;

--
-- A default and two tranches, in any case
--
ALTER SYSTEM SET lwtune.spin_time = '5us, walinsert:20us, ProcArray : auto';
ALTER SYSTEM SET lwtune.max_spinners = 'WALInsert:3';
SELECT pg_reload_conf();
SELECT wait_until($$value_of('WALInsert', 'max_spinners') = '3'$$);
SHOW lwtune.spin_time;
SELECT tranche, setting, value, source, learned IS NOT NULL AS learns, matched
  FROM lwtune_settings
 WHERE tranche IN ('WALInsert', 'ProcArray', 'BufferContent') ORDER BY tranche, setting;

--
-- Refused, with the element named and the old value kept
--
ALTER SYSTEM SET lwtune.spin_time = '20uss';
ALTER SYSTEM SET lwtune.spin_time = '0, WALInsert:20 parsecs';
ALTER SYSTEM SET lwtune.spin_time = 'WALInsert:20';
ALTER SYSTEM SET lwtune.spin_time = '20';
ALTER SYSTEM SET lwtune.spin_time = '-1us';
ALTER SYSTEM SET lwtune.spin_time = '0, WALInsert:-20us';
ALTER SYSTEM SET lwtune.spin_time = '10001us';
ALTER SYSTEM SET lwtune.spin_time = 'WALInsert:1s';
ALTER SYSTEM SET lwtune.spin_time = '0.0001us';
ALTER SYSTEM SET lwtune.spin_time = '1e400us';
ALTER SYSTEM SET lwtune.spin_time = 'nan';
ALTER SYSTEM SET lwtune.spin_time = 'infinity';
ALTER SYSTEM SET lwtune.spin_time = '0x10us';
ALTER SYSTEM SET lwtune.spin_time = 'WALInsert:always';
ALTER SYSTEM SET lwtune.spin_time = '';
ALTER SYSTEM SET lwtune.spin_time = '  ';
ALTER SYSTEM SET lwtune.spin_time = '0, , WALInsert:20us';
ALTER SYSTEM SET lwtune.spin_time = '0,';
ALTER SYSTEM SET lwtune.spin_time = ',0';
ALTER SYSTEM SET lwtune.spin_time = 'WALInsert:20us, ProcArray:0, walINSERT:5us';
ALTER SYSTEM SET lwtune.spin_time = '0, WALInsert:20us, 10us';
ALTER SYSTEM SET lwtune.spin_time = 'WALInsert:';
ALTER SYSTEM SET lwtune.spin_time = ':20us';
ALTER SYSTEM SET lwtune.spin_time = 'WALInsert:20us:5us';
ALTER SYSTEM SET lwtune.spin_time = 'WALInsert=20us';
ALTER SYSTEM SET lwtune.spin_time = 'WALInsert:20us ProcArray:0';
ALTER SYSTEM SET lwtune.spin_time = 'my tranche:20us';
ALTER SYSTEM SET lwtune.spin_time = 'Schloß:20us';
ALTER SYSTEM SET lwtune.spin_time = '"my tranche:20us';
ALTER SYSTEM SET lwtune.spin_time = '"my tranche" 20us';
ALTER SYSTEM SET lwtune.spin_time = '"":20us';
ALTER SYSTEM SET lwtune.spin_time = 'a123456789012345678901234567890123456789012345678901234567890123:20us';
ALTER SYSTEM SET lwtune.max_spinners = '-2';
ALTER SYSTEM SET lwtune.max_spinners = 'WALInsert:-2';
ALTER SYSTEM SET lwtune.max_spinners = '262144';
ALTER SYSTEM SET lwtune.max_spinners = '99999999999999999999';
ALTER SYSTEM SET lwtune.max_spinners = '1.5';
ALTER SYSTEM SET lwtune.max_spinners = '010';
ALTER SYSTEM SET lwtune.max_spinners = '0x10';
ALTER SYSTEM SET lwtune.max_spinners = 'auto';
ALTER SYSTEM SET lwtune.max_spinners = '1, 2';
ALTER SYSTEM SET lwtune.track = 'everything';
ALTER SYSTEM SET lwtune.nonsense = 1;
ALTER SYSTEM SET lwtune.spin_time = 0, 'WALInsert:20us';
SELECT pg_reload_conf();
SELECT pg_sleep(0.2);
SHOW lwtune.spin_time;
SELECT tranche, setting, value, source FROM lwtune_settings
 WHERE tranche IN ('WALInsert', 'ProcArray', 'BufferContent') ORDER BY tranche, setting;

--
-- The ends of the ranges, and what a value is shown as
--
ALTER SYSTEM SET lwtune.spin_time = '10ms, WALInsert:0.001us, ProcArray:0.002ms, BufferContent:1.234567ms, BufferMapping:1.5ms, WALWrite:+2us, LockManager:1e1us, OidGen: 0 , XidGen:0ms';
ALTER SYSTEM SET lwtune.max_spinners = '262143, WALInsert:0, ProcArray:-1';
SELECT pg_reload_conf();
SELECT wait_until($$value_of('WALInsert', 'max_spinners') = '0'$$);
SELECT tranche, setting, value, source FROM lwtune_settings
 WHERE tranche IN ('WALInsert', 'ProcArray', 'BufferContent', 'BufferMapping', 'WALWrite', 'LockManager', 'OidGen', 'XidGen')
   AND (setting = 'spin_time' OR source = 'tranche')
 ORDER BY setting, tranche;

--
-- Names with spaces, quotes and beyond ASCII, in double quotes; none of these
-- tranches exists, so each is kept and shown as unmatched
--
ALTER SYSTEM SET lwtune.spin_time = '"my tranche":1us, "a ""quoted"", one":2us, "Schloß: 城":3us, later:4us';
ALTER SYSTEM RESET lwtune.max_spinners;
SELECT pg_reload_conf();
SELECT wait_until($$value_of('ProcArray', 'spin_time') = '0'$$);
SELECT tranche, setting, value, source, learned, matched
  FROM lwtune_settings WHERE NOT matched ORDER BY value;

--
-- 10,000 characters
--
\set ECHO none
SELECT format('ALTER SYSTEM SET lwtune.spin_time = %L',
			  '0, WALInsert:7us,' || string_agg(format('nobody_%s:%sus', to_char(n, 'FM0000'), n), ',' ORDER BY n)) AS command
  FROM generate_series(1, 590) AS n \gset
\set ECHO all
SELECT length(:'command') > 10000 AS long_enough;
\set ECHO none
:command;
\set ECHO all
SELECT pg_reload_conf();
SELECT wait_until($$value_of('WALInsert', 'spin_time') = '7us'$$);
SELECT length(current_setting('lwtune.spin_time')) > 10000 AS in_force,
	   count(*) FILTER (WHERE NOT matched) AS unmatched,
	   max(value) FILTER (WHERE tranche = 'nobody_0590') AS last
  FROM lwtune_settings;

--
-- None of them can be set for a session alone
--
SET lwtune.spin_time = '1us';
SET lwtune.max_spinners = '1';
SET lwtune.track = 'none';
SET lwtune.enable = off;
SET lwtune.pause_ns = 1;
SET lwtune.nonsense = 1;
ALTER DATABASE :"DBNAME" SET lwtune.spin_time = '1us';
ALTER ROLE CURRENT_USER SET lwtune.spin_time = '1us';

--
-- Back
--
ALTER SYSTEM RESET lwtune.spin_time;
SELECT pg_reload_conf();
SELECT wait_until($$value_of('WALInsert', 'spin_time') = '0'$$);
SELECT setting, value, source, learned, matched, count(*) > 60 AS for_all
  FROM lwtune_settings GROUP BY 1, 2, 3, 4, 5 ORDER BY 1;

DROP FUNCTION wait_until, value_of;
