/*-------------------------------------------------------------------------
 *
 * lock_calls.c
 *	  Calls the server's lock functions one by one, and tells what each did.
 *
 * The same calls on a server with and without lwtune have to tell the same.
 * All is done by one process on locks of its own memory, so nothing here waits.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/s_lock.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(lock_calls);
PG_FUNCTION_INFO_V1(lock_tranches);
PG_FUNCTION_INFO_V1(lock_conditional);
PG_FUNCTION_INFO_V1(lock_acquire);

/* lwlock.c's MAX_SIMUL_LWLOCKS */
#define MOST_HELD 200

#define NLOCKS 8

static LWLockPadded *locks;
static ReturnSetInfo *result;

static void tell(const char *fmt,...) pg_attribute_printf(1, 2);

static void
tell(const char *fmt,...)
{
	char		line[1024];
	va_list		args;
	Datum		value;
	bool		null = false;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	value = CStringGetTextDatum(line);
	tuplestore_putvalues(result->setResult, result->setDesc, &value, &null);
}

static void
count_visit(LWLock *lock, LWLockMode mode, void *context)
{
	StringInfo	visits = context;
	int			number = (LWLockPadded *) lock - locks;

	/* others, which the caller's caller may hold, are none of ours */
	if (number >= 0 && number < NLOCKS)
		appendStringInfo(visits, " %d:%s", number, mode == LW_EXCLUSIVE ? "x" : "s");
}

/*
 * Everything that can be seen of the locks.
 */
static void
tell_state(const char *what)
{
	StringInfoData state;

	initStringInfo(&state);
	appendStringInfo(&state, "holdoff %u, states", InterruptHoldoffCount);
	for (int i = 0; i < NLOCKS; i++)
		appendStringInfo(&state, " %08x", pg_atomic_read_u32(&locks[i].lock.state));
	appendStringInfoString(&state, ", held");
	for (int i = 0; i < NLOCKS; i++)
		appendStringInfo(&state, " %d%d%d", LWLockHeldByMe(&locks[i].lock),
						 LWLockHeldByMeInMode(&locks[i].lock, LW_SHARED),
						 LWLockHeldByMeInMode(&locks[i].lock, LW_EXCLUSIVE));
	appendStringInfo(&state, ", any %d%d%d",
					 LWLockAnyHeldByMe(&locks[0].lock, NLOCKS, sizeof(LWLockPadded)),
					 LWLockAnyHeldByMe(&locks[0].lock, 2, sizeof(LWLockPadded)),
					 LWLockAnyHeldByMe(&locks[1].lock, NLOCKS / 2, 2 * sizeof(LWLockPadded)));
	appendStringInfoString(&state, ", list");
	ForEachLWLockHeldByMe(count_visit, &state);
	tell("%s: %s", what, state.data);
}

/*
 * Call something that raises an error, and tell which.
 */
static void
tell_error(const char *what, void (*call) (void))
{
	MemoryContext context = CurrentMemoryContext;
	uint32		holdoff = InterruptHoldoffCount;

	PG_TRY();
	{
		call();
		tell("%s: no error", what);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		/* errfinish() has reset the count, as it does for every error */
		InterruptHoldoffCount = holdoff;
		tell("%s: %s %s \"%s\"", what, error->elevel == ERROR ? "ERROR" : "other",
			 unpack_sql_state(error->sqlerrcode), error->message);
	}
	PG_END_TRY();
}

static void
release_what_is_not_held(void)
{
	LWLockRelease(&locks[7].lock);
}

static void
acquire_another(void)
{
	(void) LWLockAcquire(&locks[7].lock, LW_SHARED);
}

static void
conditionally_acquire_another(void)
{
	(void) LWLockConditionalAcquire(&locks[7].lock, LW_SHARED);
}

static void
acquire_or_wait_another(void)
{
	(void) LWLockAcquireOrWait(&locks[7].lock, LW_EXCLUSIVE);
}

static void
call_acquire(void)
{
	uint64		newval = 12;
	uint64		variable = 5;
	bool		done;

	tell_state("at first");
	done = LWLockAcquire(&locks[0].lock, LW_EXCLUSIVE);
	tell("acquire exclusive: %d", done);
	done = LWLockAcquire(&locks[1].lock, LW_SHARED);
	tell("acquire shared: %d", done);
	done = LWLockAcquire(&locks[1].lock, LW_SHARED);
	tell("acquire shared again: %d", done);
	tell_state("two locks");
	done = LWLockConditionalAcquire(&locks[0].lock, LW_EXCLUSIVE);
	tell("conditional, held exclusively: %d", done);
	done = LWLockConditionalAcquire(&locks[0].lock, LW_SHARED);
	tell("conditional shared, held exclusively: %d", done);
	done = LWLockConditionalAcquire(&locks[1].lock, LW_EXCLUSIVE);
	tell("conditional exclusive, held shared: %d", done);
	tell_state("conditional failures");
	done = LWLockConditionalAcquire(&locks[1].lock, LW_SHARED);
	tell("conditional shared, held shared: %d", done);
	done = LWLockConditionalAcquire(&locks[2].lock, LW_EXCLUSIVE);
	tell("conditional exclusive, free: %d", done);
	done = LWLockAcquireOrWait(&locks[3].lock, LW_EXCLUSIVE);
	tell("acquire or wait, free: %d", done);
	done = LWLockAcquireOrWait(&locks[4].lock, LW_SHARED);
	tell("acquire or wait, free, shared: %d", done);
	tell_state("all ways");

	/* from the middle, from the start, from the end */
	LWLockRelease(&locks[2].lock);
	tell_state("released from the middle");
	LWLockRelease(&locks[0].lock);
	tell_state("released the first");
	LWLockRelease(&locks[4].lock);
	tell_state("released the last");
	LWLockRelease(&locks[1].lock);
	LWLockRelease(&locks[1].lock);
	tell_state("released two of three");
	LWLockRelease(&locks[3].lock);
	LWLockRelease(&locks[1].lock);
	tell_state("released all");

	done = LWLockWaitForVar(&locks[5].lock, &variable, 5, &newval);
	tell("wait for variable, free: %d, new %llu", done, (unsigned long long) newval);
	(void) LWLockAcquire(&locks[5].lock, LW_SHARED);
	done = LWLockWaitForVar(&locks[5].lock, &variable, 5, &newval);
	tell("wait for variable, held shared: %d, new %llu", done, (unsigned long long) newval);
	LWLockRelease(&locks[5].lock);
	(void) LWLockAcquire(&locks[5].lock, LW_EXCLUSIVE);
	done = LWLockWaitForVar(&locks[5].lock, &variable, 4, &newval);
	tell("wait for variable, other value: %d, new %llu", done, (unsigned long long) newval);
	LWLockUpdateVar(&locks[5].lock, &variable, 6);
	done = LWLockWaitForVar(&locks[5].lock, &variable, 5, &newval);
	tell("wait for variable, updated: %d, new %llu", done, (unsigned long long) newval);
	tell_state("variable");
	LWLockReleaseClearVar(&locks[5].lock, &variable, 9);
	tell("release and clear: %llu", (unsigned long long) variable);
	tell_state("variable cleared");
}

static void
call_errors(void)
{
	uint32		holdoff = InterruptHoldoffCount;
	LWLock	   *many;

	tell_error("release what is not held", release_what_is_not_held);
	tell_state("after it");

	/* as many as fit, whatever the caller's caller holds */
	many = palloc(MOST_HELD * sizeof(LWLock));
	for (int i = 0; i < MOST_HELD; i++)
	{
		LWLockInitialize(&many[i], LWTRANCHE_BUFFER_CONTENT);
		(void) LWLockAcquire(&many[i], LW_SHARED);
	}
	tell_error("too many", acquire_another);
	tell_error("too many, conditionally", conditionally_acquire_another);
	tell_error("too many, or wait", acquire_or_wait_another);
	tell("held off %u times", InterruptHoldoffCount - holdoff);
	for (int i = 0; i < MOST_HELD; i += 2)
		LWLockRelease(&many[i]);
	tell("held off %u times", InterruptHoldoffCount - holdoff);
	LWLockReleaseAll();
	/* what error recovery set is kept, so it is not as before */
	tell("held off %u times", InterruptHoldoffCount - holdoff);
	InterruptHoldoffCount = holdoff;
	tell_state("released all");

	(void) LWLockAcquire(&locks[0].lock, LW_EXCLUSIVE);
	(void) LWLockAcquire(&locks[1].lock, LW_SHARED);
	(void) LWLockAcquire(&locks[1].lock, LW_SHARED);
	LWLockReleaseAll();
	tell_state("released all again");
	InterruptHoldoffCount = holdoff;
	LWLockReleaseAll();
	tell_state("released none");
}

static void
call_spinlocks(void)
{
	slock_t		lock;
	SpinDelayStatus status;
	int			done;

	SpinLockInit(&lock);
	done = s_lock(&lock, __FILE__, __LINE__, PG_FUNCNAME_MACRO);
	tell("free spinlock: %d, free then %d", done, SpinLockFree(&lock) ? 1 : 0);
	S_UNLOCK(&lock);

	set_spins_per_delay(20);
	init_local_spin_delay(&status);
	for (int i = 1; i <= 50; i++)
	{
		perform_spin_delay(&status);
		if (i == 1 || i % 10 == 9 || i % 10 == 0)
			tell("delay %d: spins %d, delays %d, first %d", i, status.spins, status.delays,
				 status.cur_delay > 0);
	}
	finish_spin_delay(&status);
	tell("after sleeping: %d", update_spins_per_delay(100));
	for (int i = 0; i < 12; i++)
	{
		init_local_spin_delay(&status);
		perform_spin_delay(&status);
		finish_spin_delay(&status);
		tell("after not sleeping: %d", update_spins_per_delay(100));
	}
	set_spins_per_delay(10);
	init_local_spin_delay(&status);
	for (int i = 0; i < 10; i++)
		perform_spin_delay(&status);
	finish_spin_delay(&status);
	tell("not below: %d", update_spins_per_delay(10));
	set_spins_per_delay(DEFAULT_SPINS_PER_DELAY);
}

static void
call_names(void)
{
	for (int id = 0; id < LWTRANCHE_FIRST_USER_DEFINED; id++)
		tell("tranche %d: %s", id, GetLWLockIdentifier(PG_WAIT_LWLOCK, id));
	/* nobody's, and one of this process */
	tell("tranche 60000: %s", GetLWLockIdentifier(PG_WAIT_LWLOCK, 60000));
	LWLockRegisterTranche(60001, "lock_calls one");
	tell("tranche 60001: %s", GetLWLockIdentifier(PG_WAIT_LWLOCK, 60001));
	LWLockRegisterTranche(60001, "lock_calls two");
	tell("tranche 60001: %s", GetLWLockIdentifier(PG_WAIT_LWLOCK, 60001));
	tell("tranche 60000: %s", GetLWLockIdentifier(PG_WAIT_LWLOCK, 60000));
	/* a built-in one keeps its name */
	LWLockRegisterTranche(LWTRANCHE_WAL_INSERT, "lock_calls three");
	tell("tranche %d: %s", LWTRANCHE_WAL_INSERT, GetLWLockIdentifier(PG_WAIT_LWLOCK, LWTRANCHE_WAL_INSERT));
}

/*
 * A row for each thing that was done.
 */
Datum
lock_calls(PG_FUNCTION_ARGS)
{
	result = (ReturnSetInfo *) fcinfo->resultinfo;
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);

	locks = palloc0(NLOCKS * sizeof(LWLockPadded));
	for (int i = 0; i < NLOCKS; i++)
		LWLockInitialize(&locks[i].lock, LWTRANCHE_BUFFER_CONTENT);

	call_acquire();
	call_errors();
	call_spinlocks();
	call_names();
	return (Datum) 0;
}

/*
 * Register so many new tranches; the id of the last.
 */
Datum
lock_tranches(PG_FUNCTION_ARGS)
{
	int			n = PG_GETARG_INT32(0);
	int			id = 0;

	for (int i = 0; i < n; i++)
	{
		id = LWLockNewTrancheId();
		LWLockRegisterTranche(id, MemoryContextStrdup(TopMemoryContext, psprintf("many %d", id)));
	}
	PG_RETURN_INT32(id);
}

/*
 * So many conditional attempts at a lock that is held; those that failed.
 */
Datum
lock_conditional(PG_FUNCTION_ARGS)
{
	int			tranche = PG_GETARG_INT32(0);
	int			n = PG_GETARG_INT32(1);
	int			failed = 0;
	LWLock		lock;

	LWLockInitialize(&lock, tranche);
	(void) LWLockAcquire(&lock, LW_SHARED);
	for (int i = 0; i < n; i++)
	{
		if (!LWLockConditionalAcquire(&lock, LW_EXCLUSIVE))
			failed++;
	}
	LWLockRelease(&lock);
	PG_RETURN_INT32(failed);
}

/*
 * So many exclusive acquisitions of a lock of a tranche.
 */
Datum
lock_acquire(PG_FUNCTION_ARGS)
{
	int			tranche = PG_GETARG_INT32(0);
	int64		n = PG_GETARG_INT64(1);
	LWLock		lock;

	LWLockInitialize(&lock, tranche);
	for (int64 i = 0; i < n; i++)
	{
		(void) LWLockAcquire(&lock, LW_EXCLUSIVE);
		LWLockRelease(&lock);
	}
	PG_RETURN_INT64(n);
}
