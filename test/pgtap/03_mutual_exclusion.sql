-- 03_mutual_exclusion
--	  Several sessions under one lock: nothing is lost, nothing is seen half
--	  done; and a lock that is broken on purpose is noticed.
\set ON_ERROR_STOP true
\set QUIET 1
BEGIN;
SET LOCAL client_min_messages = warning;
SELECT plan(14);

CREATE EXTENSION dblink;

-- Runs a query in so many sessions at once; a row for each, its result or the
-- error.  SESSION in the query stands for the session's number.
CREATE FUNCTION pg_temp.together(sessions int, query text) RETURNS TABLE (result bigint, error text)
LANGUAGE plpgsql AS $$
DECLARE
	conninfo text := format('host=%L port=%s dbname=%L user=%L',
							split_part(current_setting('unix_socket_directories'), ',', 1),
							current_setting('port'), current_database(), current_user);
	unused int;
BEGIN
	FOR i IN 1..sessions LOOP
		PERFORM dblink_connect('session' || i, conninfo);
	END LOOP;
	FOR i IN 1..sessions LOOP
		unused := dblink_send_query('session' || i, replace(query, 'SESSION', i::text));
	END LOOP;
	FOR i IN 1..sessions LOOP
		result := NULL;
		SELECT r INTO result FROM dblink_get_result('session' || i, false) AS answer(r bigint);
		error := nullif(dblink_error_message('session' || i), 'OK');
		RETURN NEXT;
	END LOOP;
	FOR i IN 1..sessions LOOP
		PERFORM dblink_disconnect('session' || i);
	END LOOP;
END $$;

SELECT lwtune_torture_create('pgtap exclusion') > 0 AS created \gset
SELECT lwtune_reset('pgtap exclusion');
SELECT lwtune_torture_counter('pgtap exclusion') AS already,
	   lwtune_torture_counter('pgtap exclusion', 1) + lwtune_torture_counter('pgtap exclusion', 2) AS already_others \gset

-- every way to acquire, in both modes
CREATE TEMP TABLE verified AS
SELECT * FROM pg_temp.together(4, $$SELECT lwtune_torture_verify('pgtap exclusion', 20000)$$);
SELECT is(count(*), 4::bigint, 'four sessions verified one lock') FROM verified;
SELECT is_empty('SELECT error FROM verified WHERE error IS NOT NULL', 'none found anything wrong');
SELECT is(lwtune_torture_counter('pgtap exclusion') - :already, (SELECT sum(result)::bigint FROM verified),
		  'no change under the lock was lost');
SELECT is(ex_acquire_count, (SELECT sum(result)::bigint FROM verified), 'and each was counted')
  FROM lwtune_stats WHERE tranche = 'pgtap exclusion';
SELECT cmp_ok(block_count + spin_acquire_count + dequeue_self_count, '>', 0::bigint, 'they did meet')
  FROM lwtune_stats WHERE tranche = 'pgtap exclusion';
SELECT cmp_ok(conditional_fail_count, '>', 0::bigint, 'conditional attempts failed now and then')
  FROM lwtune_stats WHERE tranche = 'pgtap exclusion';

-- several locks of one tranche do not know each other
CREATE TEMP TABLE several AS
SELECT * FROM pg_temp.together(2, $$SELECT lwtune_torture_verify('pgtap exclusion', 5000, 1)$$)
UNION ALL
SELECT * FROM pg_temp.together(2, $$SELECT lwtune_torture_verify('pgtap exclusion', 5000, 2)$$);
SELECT is_empty('SELECT error FROM several WHERE error IS NOT NULL', 'other locks of the tranche are right too');
SELECT is(lwtune_torture_counter('pgtap exclusion', 1) + lwtune_torture_counter('pgtap exclusion', 2) - :already_others,
		  (SELECT sum(result)::bigint FROM several), 'and lost nothing');

-- the variable of a lock, as WAL insertion uses it: two set it, two wait for it
CREATE TEMP TABLE variable AS
SELECT * FROM pg_temp.together(4, $$SELECT lwtune_torture_var('pgtap exclusion', 5000, 3,
	CASE WHEN SESSION % 2 = 0 THEN 'updater' ELSE 'waiter' END)$$);
SELECT is(count(*), 4::bigint, 'four sessions used the variable of one lock') FROM variable;
SELECT is_empty('SELECT error FROM variable WHERE error IS NOT NULL', 'no waiter saw it wrong');

-- the same must be found wrong where it is wrong
CREATE TEMP TABLE broken AS
SELECT * FROM pg_temp.together(4, $$SELECT lwtune_torture_verify('pgtap exclusion', 50000, 0, true)$$);
SELECT isnt_empty('SELECT error FROM broken WHERE error IS NOT NULL', 'a broken lock is noticed');
SELECT is_empty($$SELECT error FROM broken WHERE error IS NOT NULL AND error !~ 'failed verification'$$,
				'as what it is');

-- and whoever found it wrong left it free
SELECT lives_ok($$SELECT lwtune_torture_acquires('pgtap exclusion', 'exclusive', 1)$$, 'the lock can be had');
SELECT is_empty($$SELECT pid FROM pg_stat_activity WHERE wait_event = 'pgtap exclusion'$$, 'nobody waits');

SELECT * FROM finish();
ROLLBACK;
