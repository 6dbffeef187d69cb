-- 03_stats
--	  Counters, and how to start them anew.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lwtune;
RESET client_min_messages;

\d lwtune_stats

-- the server's own tranches, each once, with a start and nothing below zero
SELECT count(*) > 60 AS all_of_them, count(DISTINCT tranche) = count(*) AS each_once,
	   bool_and(stats_reset <= now()) AS started,
	   bool_and(sh_acquire_count >= 0 AND ex_acquire_count >= 0 AND
				conditional_fail_count >= 0 AND spin_acquire_count >= 0 AND
				spin_fail_count >= 0 AND block_count >= 0 AND dequeue_self_count >= 0 AND
				spin_delay_count >= 0 AND wait_time >= 0 AND max_wait_time >= 0) AS sane
  FROM lwtune_stats;

-- names are those of pg_stat_activity.wait_event
SELECT name, count(tranche) FROM unnest(ARRAY['WALInsert', 'ProcArray', 'BufferContent', 'LockManager', 'BufferMapping', 'NotifyQueue', 'SubtransSLRU']) AS name
  LEFT JOIN lwtune_stats ON tranche = name GROUP BY 1 ORDER BY 1;

-- what this session does shows at once: no snapshot, no delay
SELECT sh_acquire_count + ex_acquire_count AS before FROM lwtune_stats WHERE tranche = 'LockManager' \gset
SELECT pg_advisory_lock(1), pg_advisory_unlock(1);
SELECT sh_acquire_count + ex_acquire_count > :before AS rose FROM lwtune_stats WHERE tranche = 'LockManager';

-- The lock of the queue of notifications is taken once to listen and once to
-- stop, by a session that is the only one of its kind.
CREATE PROCEDURE listen_and_stop(n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		LISTEN regress_lwtune;
		COMMIT;
		UNLISTEN *;
		COMMIT;
	END LOOP;
END $$;

SELECT lwtune_reset('NotifyQueue');
CALL listen_and_stop(100);
SELECT tranche, ex_acquire_count, conditional_fail_count, spin_acquire_count,
	   spin_fail_count, block_count, dequeue_self_count, spin_delay_count, wait_time, max_wait_time
  FROM lwtune_stats WHERE tranche = 'NotifyQueue';

-- a reset of one tranche, named in any case, leaves the others alone
SELECT stats_reset AS notify_reset FROM lwtune_stats WHERE tranche = 'NotifyQueue' \gset
SELECT stats_reset AS other_reset, ex_acquire_count AS other_count FROM lwtune_stats WHERE tranche = 'XidGen' \gset
SELECT lwtune_reset('notifyQUEUE');
SELECT ex_acquire_count, stats_reset > :'notify_reset' AS later FROM lwtune_stats WHERE tranche = 'NotifyQueue';
SELECT ex_acquire_count >= :other_count AS kept, stats_reset = :'other_reset' AS same FROM lwtune_stats WHERE tranche = 'XidGen';
CALL listen_and_stop(3);
SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'NotifyQueue';

-- in whole
SELECT clock_timestamp() AS now \gset
SELECT lwtune_reset();
SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'NotifyQueue';
SELECT bool_and(stats_reset >= :'now') AS all_anew FROM lwtune_stats;
CALL listen_and_stop(2);
SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'NotifyQueue';

-- NULL is in whole too
SELECT lwtune_reset(NULL);
SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'NotifyQueue';

-- no such tranche
SELECT lwtune_reset('no such tranche');
SELECT lwtune_reset('');
SELECT lwtune_reset('NotifyQueu');

-- the functions can be called without the views, and more than once at a time
SELECT count(*) > 0 FROM lwtune_stats() a JOIN lwtune_stats() b USING (tranche);
SELECT count(*) > 0 FROM lwtune_settings() a JOIN lwtune_settings() b USING (tranche, setting);
SELECT count(*) FROM lwtune_status() a JOIN lwtune_status() b USING (function);
SELECT count(*) FROM (SELECT * FROM lwtune_stats LIMIT 1) AS one;

DROP PROCEDURE listen_and_stop;
