-- 05_track
--	  What is recorded, changed while the session runs.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS lwtune;
RESET client_min_messages;

-- Listens and stops until the counter of that lock behaves as asked: the
-- worker publishes the setting by itself after a reload.
CREATE PROCEDURE until_counting(wanted boolean) LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
	after bigint;
BEGIN
	FOR i IN 1..1000 LOOP
		SELECT ex_acquire_count INTO before FROM lwtune_stats WHERE tranche = 'NotifyQueue';
		LISTEN regress_lwtune;
		COMMIT;
		UNLISTEN *;
		COMMIT;
		SELECT ex_acquire_count INTO after FROM lwtune_stats WHERE tranche = 'NotifyQueue';
		IF (after = before + 2) = wanted AND (after = before) <> wanted THEN
			RETURN;
		END IF;
		PERFORM pg_sleep(0.01);
	END LOOP;
	RAISE EXCEPTION 'counting is not % after 10 seconds', wanted;
END $$;

CREATE PROCEDURE listen_and_stop(n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		LISTEN regress_lwtune;
		COMMIT;
		UNLISTEN *;
		COMMIT;
	END LOOP;
END $$;

SHOW lwtune.track;
CALL until_counting(true);

-- none: everything stands still
ALTER SYSTEM SET lwtune.track = 'none';
SELECT pg_reload_conf();
CALL until_counting(false);
SELECT lwtune_reset('NotifyQueue');
CALL listen_and_stop(50);
SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'NotifyQueue';
SELECT sum(sh_acquire_count + ex_acquire_count) AS before FROM lwtune_stats \gset
SELECT count(*) > 0 FROM pg_class;
SELECT sum(sh_acquire_count + ex_acquire_count) = :before AS stands_still FROM lwtune_stats;

-- timing: counters go on
ALTER SYSTEM SET lwtune.track = 'timing';
SELECT pg_reload_conf();
CALL until_counting(true);
SELECT lwtune_reset('NotifyQueue');
CALL listen_and_stop(50);
SELECT ex_acquire_count, wait_time, max_wait_time FROM lwtune_stats WHERE tranche = 'NotifyQueue';

-- counts again, which is the default
ALTER SYSTEM RESET lwtune.track;
SELECT pg_reload_conf();
CALL until_counting(true);
SELECT lwtune_reset('NotifyQueue');
CALL listen_and_stop(50);
SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'NotifyQueue';

DROP PROCEDURE until_counting, listen_and_stop;
