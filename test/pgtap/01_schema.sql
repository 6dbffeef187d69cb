-- 01_schema
--	  What the extension consists of: views and their columns, functions, and
--	  who may use them.
\set ON_ERROR_STOP true
\set QUIET 1
BEGIN;
SELECT plan(38);

SELECT has_extension('lwtune');
SELECT is(extversion, '0.1.0', 'its version') FROM pg_extension WHERE extname = 'lwtune';
SELECT ok(extrelocatable, 'it is relocatable') FROM pg_extension WHERE extname = 'lwtune';

SELECT bag_eq(
	$$SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
	   WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		 AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'lwtune')$$,
	ARRAY['function lwtune_status()', 'view lwtune_status',
		  'function lwtune_settings()', 'view lwtune_settings',
		  'function lwtune_stats()', 'view lwtune_stats',
		  'function lwtune_reset(text)'],
	'its members');

-- names, types and order of the columns
CREATE FUNCTION pg_temp.columns(view text) RETURNS SETOF text LANGUAGE sql AS
$$SELECT format('%s %s', attname, format_type(atttypid, atttypmod))
	FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum$$;

SELECT has_view('lwtune_status');
SELECT results_eq($$SELECT * FROM pg_temp.columns('lwtune_status')$$,
	ARRAY['function text', 'state text', 'reason text', 'calls bigint'],
	'columns of lwtune_status');

SELECT has_view('lwtune_settings');
SELECT results_eq($$SELECT * FROM pg_temp.columns('lwtune_settings')$$,
	ARRAY['tranche text', 'setting text', 'value text', 'source text', 'learned text', 'matched boolean'],
	'columns of lwtune_settings');

SELECT has_view('lwtune_stats');
SELECT results_eq($$SELECT * FROM pg_temp.columns('lwtune_stats')$$,
	ARRAY['tranche text', 'sh_acquire_count bigint', 'ex_acquire_count bigint',
		  'conditional_fail_count bigint', 'spin_acquire_count bigint', 'spin_fail_count bigint',
		  'block_count bigint', 'dequeue_self_count bigint', 'spin_delay_count bigint',
		  'wait_time double precision', 'max_wait_time double precision',
		  'stats_reset timestamp with time zone'],
	'columns of lwtune_stats');

-- functions
SELECT has_function('lwtune_status', ARRAY[]::text[]);
SELECT has_function('lwtune_settings', ARRAY[]::text[]);
SELECT has_function('lwtune_stats', ARRAY[]::text[]);
SELECT has_function('lwtune_reset', ARRAY['text']);
SELECT function_returns('lwtune_reset', ARRAY['text'], 'void');
SELECT function_lang_is('lwtune_status', ARRAY[]::text[], 'c');
SELECT function_lang_is('lwtune_settings', ARRAY[]::text[], 'c');
SELECT function_lang_is('lwtune_stats', ARRAY[]::text[], 'c');
SELECT function_lang_is('lwtune_reset', ARRAY['text'], 'c');
SELECT volatility_is('lwtune_stats', ARRAY[]::text[], 'volatile');
SELECT volatility_is('lwtune_reset', ARRAY['text'], 'volatile');
SELECT is(pg_get_function_arguments('lwtune_reset(text)'::regprocedure), 'tranche text DEFAULT NULL::text',
		  'the argument of lwtune_reset can be left out');
SELECT ok(NOT proisstrict, 'and it may be NULL') FROM pg_proc WHERE proname = 'lwtune_reset';
SELECT is_empty($$SELECT proname FROM pg_proc WHERE proname LIKE 'lwtune\_%' AND proname NOT LIKE 'lwtune\_torture%' AND prosecdef$$,
				'no function runs with its owner''s rights');
SELECT is_empty($$SELECT prosrc FROM pg_proc WHERE probin LIKE '%/lwtune' AND prosrc !~ '_1_0$'$$,
				'every entry in C carries the version of its signature');

-- what is public
CREATE ROLE regress_lwtune_public;
SELECT table_privs_are('lwtune_status', 'regress_lwtune_public', ARRAY['SELECT']);
SELECT table_privs_are('lwtune_settings', 'regress_lwtune_public', ARRAY['SELECT']);
SELECT table_privs_are('lwtune_stats', 'regress_lwtune_public', ARRAY['SELECT']);
SELECT function_privs_are('lwtune_reset', ARRAY['text'], 'regress_lwtune_public', ARRAY[]::text[]);

-- tranche names: those of the server, and every one once
SELECT is_empty('SELECT tranche FROM lwtune_stats GROUP BY tranche HAVING count(*) > 1',
				'lwtune_stats: one row per tranche');
SELECT is_empty('SELECT tranche, setting FROM lwtune_settings GROUP BY 1, 2 HAVING count(*) > 1',
				'lwtune_settings: one row per tranche and setting');
SELECT bag_has('SELECT tranche FROM lwtune_settings', 'SELECT tranche FROM lwtune_stats',
			   'every tranche that is counted can be set');
SELECT bag_eq('SELECT DISTINCT setting FROM lwtune_settings', ARRAY['spin_time', 'max_spinners'],
			  'lwtune_settings shows each setting per tranche');
SELECT bag_hasnt('SELECT tranche FROM lwtune_stats', $$VALUES ('extension'), ('<unassigned:0>')$$,
				 'no tranche goes by a stand-in for a name');

-- lwtune_status
SELECT bag_eq('SELECT function FROM lwtune_status',
	ARRAY['LWLockAcquire', 'LWLockConditionalAcquire', 'LWLockAcquireOrWait', 'LWLockWaitForVar',
		  'LWLockUpdateVar', 'LWLockRelease', 'LWLockReleaseClearVar', 'LWLockReleaseAll',
		  'ForEachLWLockHeldByMe', 'LWLockHeldByMe', 'LWLockAnyHeldByMe', 'LWLockHeldByMeInMode',
		  's_lock', 'perform_spin_delay', 'finish_spin_delay', 'set_spins_per_delay',
		  'update_spins_per_delay', 'LWLockRegisterTranche', 'GetLWLockIdentifier'],
	'every function that shares private state is listed');
SELECT is_empty($$SELECT * FROM lwtune_status WHERE state <> 'redirected' OR reason IS NOT NULL OR calls IS NULL OR calls < 1$$,
				'all of them are redirected, and their self-test saw calls');

-- settings
SELECT bag_eq($$SELECT name || ' ' || context FROM pg_settings WHERE name LIKE 'lwtune.%'$$,
	ARRAY['lwtune.enable postmaster', 'lwtune.spin_time sighup', 'lwtune.max_spinners sighup',
		  'lwtune.track sighup', 'lwtune.pause_ns internal'],
	'settings and when they can be changed');
SELECT is_empty($$SELECT name FROM pg_settings WHERE name LIKE 'lwtune.%' AND (short_desc IS NULL OR short_desc !~ '^[A-Z].*\.$')$$,
				'every setting is described');

SELECT * FROM finish();
ROLLBACK;
