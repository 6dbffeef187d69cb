/*-------------------------------------------------------------------------
 *
 * lwtune_torture.c
 *	  Load and checks for lightweight locks, callable from SQL.
 *
 * It uses the server's exported lock functions only, so the same binary runs
 * on a stock server and on one that preloads lwtune, and the two can be
 * compared.  It needs no preloading of its own: the shared struct is small
 * enough for the slack that every server has in its main segment.
 *
 * AddinShmemInitLock guards the table of tranches.  Entries are only ever
 * added, and one is complete before ntranches counts it.  What lies in a
 * TortureGuarded belongs to whoever holds the lock of the same index.
 *
 * Interrupts are served between rounds, never under a lock, and an error is
 * raised only after the release, unless raising it is the point.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/builtins.h"

#if PG_VERSION_NUM >= 170000
#error "lwtune_torture knows lock variables as plain 64-bit integers, as they are before PostgreSQL 17"
#endif

PG_MODULE_MAGIC;

#define TORTURE_TRANCHES		16
#define TORTURE_LOCKS			4
#define TORTURE_WORDS			8
#define TORTURE_PAIR_NAME		"lwtune_torture_pair"

/* the clock is read and interrupts are served once in so many rounds */
#define TORTURE_ROUNDS_PER_CLOCK 1000

/* lwtune_torture_pair: rounds timed together, and the most such chunks */
#define TORTURE_PAIR_CHUNK		10000
#define TORTURE_PAIR_MAX_CHUNKS	10000

typedef struct TortureGuarded
{
	/* for lwtune_torture_verify: all words equal when nobody is inside */
	uint64		counter;
	uint64		words[TORTURE_WORDS];

	/* for lwtune_torture_var: 0 unless a holder published a value */
	uint64		var;

	/*
	 * Written by the holder, read by waiters without the lock: the last value
	 * that LWLockUpdateVar has certainly published, and how many holds have
	 * begun and are about to end.
	 */
	pg_atomic_uint64 published;
	pg_atomic_uint64 holds_begun;
	pg_atomic_uint64 holds_done;
} TortureGuarded;

typedef union TortureGuardedPadded
{
	TortureGuarded data;
	char		pad[PG_CACHE_LINE_SIZE];
} TortureGuardedPadded;

StaticAssertDecl(sizeof(TortureGuarded) <= PG_CACHE_LINE_SIZE,
				 "guarded data must fit its cache line");

typedef struct TortureTranche
{
	LWLockPadded locks[TORTURE_LOCKS];
	TortureGuardedPadded guarded[TORTURE_LOCKS];
} TortureTranche;

typedef struct TortureShared
{
	TortureTranche tranches[TORTURE_TRANCHES];
	LWLockPadded pair_lock;
	pg_atomic_flag pair_busy;
	int			pair_id;
	int			ntranches;
	int			ids[TORTURE_TRANCHES];
	char		names[TORTURE_TRANCHES][NAMEDATALEN];
} TortureShared;

/* one lock and what it guards, as the functions' arguments name it */
typedef struct TortureTarget
{
	TortureTranche *tranche;
	LWLock	   *lock;
	TortureGuarded *guarded;
} TortureTarget;

/* what ForEachLWLockHeldByMe told */
typedef struct TortureHeld
{
	LWLock	   *lock;
	LWLockMode	mode;
	int			matches;
} TortureHeld;

static TortureShared *shared = NULL;

/* how many of the shared tranches this process knows and has registered */
static int	known_tranches = 0;

PG_FUNCTION_INFO_V1(lwtune_torture_create);
PG_FUNCTION_INFO_V1(lwtune_torture_loop);
PG_FUNCTION_INFO_V1(lwtune_torture_run);
PG_FUNCTION_INFO_V1(lwtune_torture_acquires);
PG_FUNCTION_INFO_V1(lwtune_torture_hold);
PG_FUNCTION_INFO_V1(lwtune_torture_fail);
PG_FUNCTION_INFO_V1(lwtune_torture_verify);
PG_FUNCTION_INFO_V1(lwtune_torture_counter);
PG_FUNCTION_INFO_V1(lwtune_torture_var);
PG_FUNCTION_INFO_V1(lwtune_torture_pair);

/*
 * Attach to the shared struct, which the first caller in the server makes.
 * The caller holds AddinShmemInitLock exclusively.
 */
static void
attach_shared(void)
{
	bool		found;
	void	   *raw;

	/* ShmemInitStruct aligns to cache lines */
	raw = ShmemInitStruct("lwtune_torture", sizeof(TortureShared), &found);
	if (!found)
	{
		memset(raw, 0, sizeof(TortureShared));
		((TortureShared *) raw)->pair_id = LWLockNewTrancheId();
		LWLockInitialize(&((TortureShared *) raw)->pair_lock.lock,
						 ((TortureShared *) raw)->pair_id);
		pg_atomic_init_flag(&((TortureShared *) raw)->pair_busy);
	}
	shared = raw;
	LWLockRegisterTranche(shared->pair_id, TORTURE_PAIR_NAME);
}

/*
 * Register in this process what others have created meanwhile.  The caller
 * holds AddinShmemInitLock.
 */
static void
register_new_tranches(void)
{
	for (; known_tranches < shared->ntranches; known_tranches++)
		LWLockRegisterTranche(shared->ids[known_tranches],
							  shared->names[known_tranches]);
}

static void
refresh_tranches(void)
{
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	if (shared == NULL)
		attach_shared();
	register_new_tranches();
	LWLockRelease(AddinShmemInitLock);
}

/* index of a tranche among those that this process knows, or -1 */
static int
known_tranche(const char *name)
{
	for (int i = 0; i < known_tranches; i++)
	{
		if (strcmp(shared->names[i], name) == 0)
			return i;
	}
	return -1;
}

static TortureTarget
find_target(const char *name, int lockno)
{
	TortureTarget target;
	int			index = known_tranche(name);

	if (index < 0)
	{
		refresh_tranches();
		index = known_tranche(name);
	}
	if (index < 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("tranche \"%s\" does not exist", name),
				 errhint("Make it with lwtune_torture_create().")));
	if (lockno < 0 || lockno >= TORTURE_LOCKS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lock %d is out of range", lockno),
				 errdetail("A tranche has the locks 0 to %d.",
						   TORTURE_LOCKS - 1)));

	target.tranche = &shared->tranches[index];
	target.lock = &target.tranche->locks[lockno].lock;
	target.guarded = &target.tranche->guarded[lockno].data;
	return target;
}

static LWLockMode
parse_mode(const char *mode)
{
	if (strcmp(mode, "exclusive") == 0)
		return LW_EXCLUSIVE;
	if (strcmp(mode, "shared") == 0)
		return LW_SHARED;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown lock mode \"%s\"", mode),
			 errhint("The modes are \"exclusive\" and \"shared\".")));
}

static void
require_not_negative(const char *what, int64 value)
{
	if (value < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be negative", what)));
}

/* So many increments of a volatile variable: the unit of work. */
static inline void
work(int iterations)
{
	volatile int sink = 0;

	while (iterations-- > 0)
		sink++;
}

static void
lock_rounds(LWLock *lock, LWLockMode mode, int inside, int outside,
			int64 rounds)
{
	for (int64 i = 0; i < rounds; i++)
	{
		CHECK_FOR_INTERRUPTS();
		LWLockAcquire(lock, mode);
		work(inside);
		LWLockRelease(lock);
		work(outside);
	}
}

static double
milliseconds_since(instr_time start)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return INSTR_TIME_GET_MILLISEC(now);
}

/*
 * Nap in short pieces, so that a caller under a lock, where interrupts are
 * held off, can still give up early.
 */
static void
nap_unless_interrupted(int ms)
{
	instr_time	start;

	INSTR_TIME_SET_CURRENT(start);
	while (!InterruptPending)
	{
		double		left = ms - milliseconds_since(start);

		if (left <= 0)
			break;
		pg_usleep((long) (Min(left, 10.0) * 1000.0) + 1);
	}
}

Datum
lwtune_torture_create(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int			index;

	if (name[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("tranche name must not be empty")));
	if (strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("tranche name \"%s\" is too long", name),
				 errdetail("It may have at most %d bytes.",
						   NAMEDATALEN - 1)));

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	if (shared == NULL)
		attach_shared();
	register_new_tranches();
	index = known_tranche(name);
	if (index < 0 && shared->ntranches < TORTURE_TRANCHES)
	{
		TortureTranche *tranche;

		index = shared->ntranches;
		tranche = &shared->tranches[index];
		strlcpy(shared->names[index], name, NAMEDATALEN);
		shared->ids[index] = LWLockNewTrancheId();
		for (int i = 0; i < TORTURE_LOCKS; i++)
		{
			TortureGuarded *guarded = &tranche->guarded[i].data;

			LWLockInitialize(&tranche->locks[i].lock, shared->ids[index]);
			pg_atomic_init_u64(&guarded->published, 0);
			pg_atomic_init_u64(&guarded->holds_begun, 0);
			pg_atomic_init_u64(&guarded->holds_done, 0);
		}
		shared->ntranches++;
		register_new_tranches();
	}
	LWLockRelease(AddinShmemInitLock);

	if (index < 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("cannot create tranche \"%s\"", name),
				 errdetail("There are already %d, and none can be dropped before a restart.",
						   TORTURE_TRANCHES)));

	PG_RETURN_INT32(shared->ids[index]);
}

Datum
lwtune_torture_loop(PG_FUNCTION_ARGS)
{
	LWLockMode	mode = parse_mode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	int			inside = PG_GETARG_INT32(2);
	int			outside = PG_GETARG_INT32(3);
	int64		rounds = PG_GETARG_INT64(4);
	TortureTarget target = find_target(text_to_cstring(PG_GETARG_TEXT_PP(0)),
									   PG_GETARG_INT32(5));

	require_not_negative("inside", inside);
	require_not_negative("outside", outside);
	require_not_negative("rounds", rounds);

	lock_rounds(target.lock, mode, inside, outside, rounds);
	PG_RETURN_INT64(rounds);
}

Datum
lwtune_torture_run(PG_FUNCTION_ARGS)
{
	LWLockMode	mode = parse_mode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	int			inside = PG_GETARG_INT32(2);
	int			outside = PG_GETARG_INT32(3);
	int			duration_ms = PG_GETARG_INT32(4);
	TortureTarget target = find_target(text_to_cstring(PG_GETARG_TEXT_PP(0)),
									   PG_GETARG_INT32(5));
	int64		rounds = 0;
	instr_time	start;

	require_not_negative("inside", inside);
	require_not_negative("outside", outside);
	require_not_negative("duration_ms", duration_ms);

	INSTR_TIME_SET_CURRENT(start);
	do
	{
		lock_rounds(target.lock, mode, inside, outside,
					TORTURE_ROUNDS_PER_CLOCK);
		rounds += TORTURE_ROUNDS_PER_CLOCK;
	} while (milliseconds_since(start) < duration_ms);
	PG_RETURN_INT64(rounds);
}

Datum
lwtune_torture_acquires(PG_FUNCTION_ARGS)
{
	LWLockMode	mode = parse_mode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	int64		n = PG_GETARG_INT64(2);
	TortureTarget target = find_target(text_to_cstring(PG_GETARG_TEXT_PP(0)),
									   PG_GETARG_INT32(3));

	require_not_negative("n", n);

	lock_rounds(target.lock, mode, 0, 0, n);
	PG_RETURN_INT64(n);
}

Datum
lwtune_torture_hold(PG_FUNCTION_ARGS)
{
	LWLockMode	mode = parse_mode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	int			hold_ms = PG_GETARG_INT32(2);
	TortureTarget target = find_target(text_to_cstring(PG_GETARG_TEXT_PP(0)),
									   PG_GETARG_INT32(3));

	require_not_negative("hold_ms", hold_ms);

	LWLockAcquire(target.lock, mode);
	nap_unless_interrupted(hold_ms);
	LWLockRelease(target.lock);
	CHECK_FOR_INTERRUPTS();
	PG_RETURN_VOID();
}

/* The one function that leaves the release to the abort of the transaction. */
Datum
lwtune_torture_fail(PG_FUNCTION_ARGS)
{
	LWLockMode	mode = parse_mode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	TortureTarget target = find_target(text_to_cstring(PG_GETARG_TEXT_PP(0)),
									   PG_GETARG_INT32(2));

	LWLockAcquire(target.lock, mode);
	ereport(ERROR,
			(errmsg("failed on purpose while holding a lock")));
}

static void
count_held(LWLock *lock, LWLockMode mode, void *context)
{
	TortureHeld *held = context;

	if (lock == held->lock && mode == held->mode)
		held->matches++;
}

/* What is wrong with this process's own idea of what it holds, or NULL. */
static const char *
check_held(TortureTarget *target, LWLockMode mode, bool held)
{
	TortureHeld seen = {target->lock, mode, 0};
	LWLockMode	other = mode == LW_EXCLUSIVE ? LW_SHARED : LW_EXCLUSIVE;

	ForEachLWLockHeldByMe(count_held, &seen);
	if (seen.matches != (held ? 1 : 0))
		return "ForEachLWLockHeldByMe disagrees";
	if (LWLockHeldByMe(target->lock) != held)
		return "LWLockHeldByMe disagrees";
	if (LWLockHeldByMeInMode(target->lock, mode) != held)
		return "LWLockHeldByMeInMode disagrees";
	if (LWLockHeldByMeInMode(target->lock, other))
		return "LWLockHeldByMeInMode reports the other mode";
	if (LWLockAnyHeldByMe(&target->tranche->locks[0].lock, TORTURE_LOCKS,
						  sizeof(LWLockPadded)) != held)
		return "LWLockAnyHeldByMe disagrees";
	return NULL;
}

/*
 * An exclusive holder's visit: whoever else is inside sees unequal words, or
 * is seen by the sum at the end.  Slow on purpose, and now and then it sleeps
 * in the middle so that others queue.
 */
static const char *
visit_exclusive(TortureGuarded *guarded, pg_prng_state *prng)
{
	volatile uint64 *words = guarded->words;
	volatile uint64 *counter = &guarded->counter;
	uint64		old = words[0];
	uint64		count = *counter;
	uint64		dice = pg_prng_uint64(prng);
	const char *wrong = NULL;

	for (int i = 0; i < TORTURE_WORDS; i++)
	{
		if (words[i] != old)
			wrong = "an exclusive holder found another's unfinished update";
		words[i] = old + 1;
		work((int) (dice & 0x1f));
		if (i == TORTURE_WORDS / 2 && (dice >> 32) % 256 == 0)
			pg_usleep(200);
	}
	for (int i = 0; i < TORTURE_WORDS; i++)
	{
		if (words[i] != old + 1)
			wrong = "an exclusive holder's update was overwritten";
	}
	*counter = count + 1;
	return wrong;
}

static const char *
visit_shared(TortureGuarded *guarded, pg_prng_state *prng)
{
	volatile uint64 *words = guarded->words;
	uint64		first = words[0];
	uint64		dice = pg_prng_uint64(prng);
	const char *wrong = NULL;

	for (int pass = 0; pass < 2; pass++)
	{
		for (int i = 0; i < TORTURE_WORDS; i++)
		{
			if (words[i] != first)
				wrong = "a shared holder saw the data change";
			work((int) (dice & 0x0f));
		}
		if (pass == 0 && (dice >> 32) % 256 == 0)
			pg_usleep(200);
	}
	return wrong;
}

Datum
lwtune_torture_verify(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int64		rounds = PG_GETARG_INT64(1);
	int			lockno = PG_GETARG_INT32(2);
	bool		broken = PG_GETARG_BOOL(3);
	TortureTarget target = find_target(name, lockno);
	int64		exclusive = 0;
	pg_prng_state prng;

	require_not_negative("rounds", rounds);
	pg_prng_seed(&prng, (uint64) MyProcPid * 1000003 + (uint64) rounds);

	for (int64 i = 0; i < rounds; i++)
	{
		uint64		dice = pg_prng_uint64(&prng) % 100;
		LWLockMode	mode = dice % 2 == 0 ? LW_EXCLUSIVE : LW_SHARED;
		LWLockMode	taken = mode;
		const char *wrong = NULL;
		bool		acquired = true;

		CHECK_FOR_INTERRUPTS();

		if (broken && mode == LW_EXCLUSIVE && pg_prng_uint64(&prng) % 8 == 0)
			taken = LW_SHARED;

		if (dice < 60)
			(void) LWLockAcquire(target.lock, taken);
		else if (dice < 80)
			acquired = LWLockConditionalAcquire(target.lock, taken);
		else
			acquired = LWLockAcquireOrWait(target.lock, taken);

		if (acquired)
		{
			wrong = check_held(&target, taken, true);
			if (wrong == NULL && mode == LW_EXCLUSIVE)
				wrong = visit_exclusive(target.guarded, &prng);
			else if (wrong == NULL)
				wrong = visit_shared(target.guarded, &prng);
			LWLockRelease(target.lock);
			if (mode == LW_EXCLUSIVE)
				exclusive++;
		}
		if (wrong == NULL)
			wrong = check_held(&target, taken, false);
		if (wrong != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("lock %d of tranche \"%s\" failed verification: %s",
							lockno, name, wrong),
					 errdetail("Round %lld of process %d, %s, by %s.",
							   (long long) i, MyProcPid,
							   mode == LW_EXCLUSIVE ? "exclusive" : "shared",
							   dice < 60 ? "LWLockAcquire" :
							   dice < 80 ? "LWLockConditionalAcquire" :
							   "LWLockAcquireOrWait")));
	}
	PG_RETURN_INT64(exclusive);
}

Datum
lwtune_torture_counter(PG_FUNCTION_ARGS)
{
	TortureTarget target = find_target(text_to_cstring(PG_GETARG_TEXT_PP(0)),
									   PG_GETARG_INT32(1));
	uint64		counter;

	LWLockAcquire(target.lock, LW_SHARED);
	counter = target.guarded->counter;
	LWLockRelease(target.lock);
	PG_RETURN_INT64((int64) counter);
}

/*
 * One hold as WAL insertion does it: a few rising values, then zero together
 * with the release.  Adds to *updates; what is wrong, or NULL.
 */
static const char *
var_update_hold(TortureTarget *target, pg_prng_state *prng, int64 *updates)
{
	TortureGuarded *guarded = target->guarded;
	uint64		value;
	int			n = 1 + (int) (pg_prng_uint64(prng) % 4);
	const char *wrong = NULL;

	LWLockAcquire(target->lock, LW_EXCLUSIVE);
	pg_atomic_fetch_add_u64(&guarded->holds_begun, 1);
	if (*(volatile uint64 *) &guarded->var != 0)
		wrong = "the variable was not cleared by the release before";
	value = pg_atomic_read_u64(&guarded->published);
	for (int i = 0; i < n; i++)
	{
		work((int) (pg_prng_uint64(prng) % 256));
		LWLockUpdateVar(target->lock, &guarded->var, ++value);
		if (*(volatile uint64 *) &guarded->var != value)
			wrong = "LWLockUpdateVar did not set the variable";
		pg_atomic_write_u64(&guarded->published, value);
		(*updates)++;

		/* long enough for waiters to sleep on the variable */
		if (pg_prng_uint64(prng) % 64 == 0)
			pg_usleep(50);
	}
	pg_atomic_fetch_add_u64(&guarded->holds_done, 1);
	LWLockReleaseClearVar(target->lock, &guarded->var, 0);
	return wrong;
}

/*
 * One wait as WAL flushing does it: until the lock is free or the value has
 * passed a goal.  Adds to *seen; what is wrong, or NULL.
 */
static const char *
var_wait(TortureTarget *target, pg_prng_state *prng, int64 *seen)
{
	TortureGuarded *guarded = target->guarded;
	uint64		goal;
	uint64		last = 0;		/* highest value seen */
	uint64		old = 0;

	goal = pg_atomic_read_u64(&guarded->published) + 1 +
		pg_prng_uint64(prng) % 4;

	do
	{
		uint64		published = pg_atomic_read_u64(&guarded->published);
		uint64		begun = pg_atomic_read_u64(&guarded->holds_begun);
		uint64		value = old;

		pg_memory_barrier();
		if (LWLockWaitForVar(target->lock, &guarded->var, old, &value))
		{
			/* a hold seen to have begun must be over before it is free */
			pg_memory_barrier();
			if (pg_atomic_read_u64(&guarded->holds_done) < begun)
				return "LWLockWaitForVar reported a held lock as free";
			return NULL;
		}
		if (value == old)
			return "LWLockWaitForVar returned without a new value";

		/* zero is a holder about to release, or one that has just begun */
		if (value != 0)
		{
			if (value < published)
				return "LWLockWaitForVar returned a stale value";
			if (value <= last)
				return "the variable went backwards";
			last = value;
			(*seen)++;
		}
		old = value;
	} while (last < goal);
	return NULL;
}

Datum
lwtune_torture_var(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int64		rounds = PG_GETARG_INT64(1);
	int			lockno = PG_GETARG_INT32(2);
	char	   *role = text_to_cstring(PG_GETARG_TEXT_PP(3));
	TortureTarget target = find_target(name, lockno);
	bool		updater = strcmp(role, "updater") == 0;
	int64		values = 0;
	pg_prng_state prng;

	if (!updater && strcmp(role, "waiter") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown role \"%s\"", role),
				 errhint("The roles are \"updater\" and \"waiter\".")));
	require_not_negative("rounds", rounds);
	pg_prng_seed(&prng, (uint64) MyProcPid * 1000003 + (uint64) rounds);

	for (int64 i = 0; i < rounds; i++)
	{
		int64		before = values;
		const char *wrong;

		CHECK_FOR_INTERRUPTS();
		wrong = updater ? var_update_hold(&target, &prng, &values) :
			var_wait(&target, &prng, &values);
		if (wrong != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("lock %d of tranche \"%s\" failed verification: %s",
							lockno, name, wrong),
					 errdetail("Round %lld of process %d, %s.",
							   (long long) i, MyProcPid, role)));
		work((int) (pg_prng_uint64(&prng) % 512));

		/* a waiter that meets no holder must not be done in no time */
		if (!updater && values == before && pg_prng_uint64(&prng) % 8 == 0)
			pg_usleep(20);
	}
	PG_RETURN_INT64(values);
}

static void
leave_pair(int code, Datum arg)
{
	(void) code;
	(void) arg;
	pg_atomic_clear_flag(&shared->pair_busy);
}

static int
compare_doubles(const void *a, const void *b)
{
	double		left = *(const double *) a;
	double		right = *(const double *) b;

	return (left > right) - (left < right);
}

/*
 * The rounds are timed in chunks, and the median chunk counts: on a machine
 * that others use too, the mean would measure how often they interrupted.
 */
Datum
lwtune_torture_pair(PG_FUNCTION_ARGS)
{
	int64		rounds = PG_GETARG_INT64(0);
	LWLockMode	mode = parse_mode(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	int64		nchunks = Min((rounds - 1) / TORTURE_PAIR_CHUNK + 1,
							  TORTURE_PAIR_MAX_CHUNKS);
	double	   *ns;
	double		median;

	if (rounds <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rounds must be positive")));
	if (shared == NULL)
		refresh_tranches();
	ns = palloc(nchunks * sizeof(double));
	if (!pg_atomic_test_set_flag(&shared->pair_busy))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("another process is measuring lock pairs"),
				 errdetail("A second one would make the lock contended.")));

	PG_ENSURE_ERROR_CLEANUP(leave_pair, (Datum) 0);
	{
		LWLock	   *lock = &shared->pair_lock.lock;
		int64		left = rounds;

		for (int64 i = 0; i < nchunks; i++)
		{
			int64		chunk = left / (nchunks - i);
			instr_time	start;

			CHECK_FOR_INTERRUPTS();
			INSTR_TIME_SET_CURRENT(start);
			for (int64 j = 0; j < chunk; j++)
			{
				LWLockAcquire(lock, mode);
				LWLockRelease(lock);
			}
			ns[i] = milliseconds_since(start) * 1e6 / (double) chunk;
			left -= chunk;
		}
	}
	PG_END_ENSURE_ERROR_CLEANUP(leave_pair, (Datum) 0);
	leave_pair(0, (Datum) 0);

	qsort(ns, nchunks, sizeof(double), compare_doubles);
	median = ns[nchunks / 2];
	PG_RETURN_FLOAT8(median);
}
