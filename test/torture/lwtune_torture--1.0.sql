/* lwtune_torture--1.0.sql - functions that load and check lightweight locks */

\echo Use "CREATE EXTENSION lwtune_torture" to load this file. \quit

-- Makes the tranche with its four locks unless it exists; its id.
CREATE FUNCTION lwtune_torture_create(tranche text)
RETURNS integer
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME';

-- Rounds of acquire, work inside, release, work outside; rounds done.
CREATE FUNCTION lwtune_torture_loop(tranche text, mode text,
									inside integer, outside integer,
									rounds bigint, lock integer DEFAULT 0)
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME';

-- The same for a given time.
CREATE FUNCTION lwtune_torture_run(tranche text, mode text,
								   inside integer, outside integer,
								   duration_ms integer, lock integer DEFAULT 0)
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME';

-- Exactly n acquisitions and releases, with no work; n.
CREATE FUNCTION lwtune_torture_acquires(tranche text, mode text,
										n bigint, lock integer DEFAULT 0)
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME';

-- Keeps the lock for a time; a cancel ends it early.
CREATE FUNCTION lwtune_torture_hold(tranche text, mode text,
									hold_ms integer, lock integer DEFAULT 0)
RETURNS void
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME';

-- Raises an error while it holds the lock; the abort must release it.
CREATE FUNCTION lwtune_torture_fail(tranche text, mode text,
									lock integer DEFAULT 0)
RETURNS void
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME';

-- Mutual exclusion under every way to acquire; exclusive acquisitions done.
-- With broken, one exclusive round in eight takes the lock in shared mode
-- only, and among several processes the check must notice.
CREATE FUNCTION lwtune_torture_verify(tranche text, rounds bigint,
									  lock integer DEFAULT 0,
									  broken boolean DEFAULT false)
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME';

-- What all calls of lwtune_torture_verify counted under the lock.
CREATE FUNCTION lwtune_torture_counter(tranche text, lock integer DEFAULT 0)
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME';

-- The lock's variable, used as WAL insertion uses it.  An updater returns
-- the values it published, a waiter those it saw.
CREATE FUNCTION lwtune_torture_var(tranche text, rounds bigint,
								   lock integer, role text)
RETURNS bigint
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME';

-- Nanoseconds for one uncontended acquire and release, the median of many
-- short measurements.
CREATE FUNCTION lwtune_torture_pair(rounds bigint,
									mode text DEFAULT 'exclusive')
RETURNS double precision
LANGUAGE C STRICT VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME';
