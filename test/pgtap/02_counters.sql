-- 02_counters
--	  Exact counts of what one session did, by tranche and mode.
\set ON_ERROR_STOP true
\set QUIET 1
BEGIN;
SELECT plan(18);

SELECT lives_ok($$SELECT lwtune_torture_create('pgtap one'), lwtune_torture_create('pgtap two')$$,
				'two tranches of an extension');
SELECT bag_has('SELECT tranche FROM lwtune_stats', $$VALUES ('pgtap one'), ('pgtap two')$$,
			   'both show under their names, used or not');

-- tranche, everything that is counted, as one text
CREATE FUNCTION pg_temp.counts(tranche text) RETURNS text LANGUAGE sql AS
$$SELECT format('shared %s, exclusive %s, conditional %s, spun %s/%s, slept %s, dequeued %s, delays %s, time %s/%s',
				sh_acquire_count, ex_acquire_count, conditional_fail_count, spin_acquire_count,
				spin_fail_count, block_count, dequeue_self_count, spin_delay_count, wait_time, max_wait_time)
	FROM lwtune_stats s WHERE s.tranche = $1$$;

SELECT lwtune_reset('pgtap one'), lwtune_reset('pgtap two');
SELECT is(pg_temp.counts('pgtap one'),
		  'shared 0, exclusive 0, conditional 0, spun 0/0, slept 0, dequeued 0, delays 0, time 0/0',
		  'nothing after a reset');

SELECT is(lwtune_torture_acquires('pgtap one', 'exclusive', 1), 1::bigint, 'one');
SELECT is(pg_temp.counts('pgtap one'),
		  'shared 0, exclusive 1, conditional 0, spun 0/0, slept 0, dequeued 0, delays 0, time 0/0',
		  'one exclusive acquisition counts one');

SELECT is(lwtune_torture_acquires('pgtap one', 'shared', 1), 1::bigint, 'one');
SELECT is(pg_temp.counts('pgtap one'),
		  'shared 1, exclusive 1, conditional 0, spun 0/0, slept 0, dequeued 0, delays 0, time 0/0',
		  'one shared acquisition counts one');

-- many, with work and without, on each of the tranche's locks
DO $$
BEGIN
	PERFORM lwtune_torture_acquires('pgtap one', 'exclusive', 99999, 0),
			lwtune_torture_acquires('pgtap one', 'exclusive', 100000, 1),
			lwtune_torture_loop('pgtap one', 'exclusive', 5, 10, 20000, 2),
			lwtune_torture_loop('pgtap one', 'exclusive', 0, 0, 3, 3),
			lwtune_torture_acquires('pgtap one', 'shared', 12344, 0),
			lwtune_torture_loop('pgtap one', 'shared', 5, 10, 1000, 3);
END $$;
SELECT is(pg_temp.counts('pgtap one'),
		  'shared 13345, exclusive 220003, conditional 0, spun 0/0, slept 0, dequeued 0, delays 0, time 0/0',
		  'the locks of a tranche are counted together, exactly');
SELECT is(pg_temp.counts('pgtap two'),
		  'shared 0, exclusive 0, conditional 0, spun 0/0, slept 0, dequeued 0, delays 0, time 0/0',
		  'and none of it in another tranche');

-- a lock that an error releases was acquired too, and it is free afterwards
SELECT throws_ok($$SELECT lwtune_torture_fail('pgtap two', 'exclusive')$$, 'failed on purpose while holding a lock');
SELECT throws_ok($$SELECT lwtune_torture_fail('pgtap two', 'shared')$$, 'failed on purpose while holding a lock');
SELECT lives_ok($$SELECT lwtune_torture_acquires('pgtap two', 'exclusive', 5)$$, 'an error leaves no lock behind');
SELECT is(pg_temp.counts('pgtap two'),
		  'shared 1, exclusive 6, conditional 0, spun 0/0, slept 0, dequeued 0, delays 0, time 0/0',
		  'what an error releases has been counted');

-- in what way a lock was acquired does not matter, only in which mode
SELECT lwtune_reset('pgtap two');
SELECT lwtune_torture_counter('pgtap two') AS already \gset
SELECT lwtune_torture_verify('pgtap two', 10000) AS exclusive \gset
SELECT is(ex_acquire_count, :exclusive::bigint, 'exclusive acquisitions of three kinds')
  FROM lwtune_stats WHERE tranche = 'pgtap two';
SELECT is(sh_acquire_count, 1 + 10000 - :exclusive::bigint, 'shared acquisitions of three kinds')
  FROM lwtune_stats WHERE tranche = 'pgtap two';
SELECT is(lwtune_torture_counter('pgtap two'), (:already + :exclusive)::bigint,
		  'as many as there were changes under the lock');

-- names are folded as anywhere in settings
SELECT lwtune_reset('PGTAP Two');
SELECT is(pg_temp.counts('pgtap two'),
		  'shared 0, exclusive 0, conditional 0, spun 0/0, slept 0, dequeued 0, delays 0, time 0/0',
		  'a reset finds the tranche in any case');
SELECT isnt(ex_acquire_count, 0::bigint, 'and leaves the other alone')
  FROM lwtune_stats WHERE tranche = 'pgtap one';

SELECT * FROM finish();
ROLLBACK;
