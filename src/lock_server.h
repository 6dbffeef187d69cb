/*-------------------------------------------------------------------------
 *
 * lock_server.h
 *	  The shim under lock_core.h in the server.
 *
 * For the one lock_pgNN.c, which says before it how this major numbers its
 * processes (PROCESS_NUMBER) and defines the variable's accessors.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_LOCK_SERVER_H
#define LWTUNE_LOCK_SERVER_H

#include "lock.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/atomics.h"
#include "portability/instr_time.h"
#include "probe.h"
#include "spin_wait.h"
#include "stat.h"
#include "storage/pg_sema.h"
#include "storage/proc.h"

typedef struct LockWait
{
	instr_time	start;
	bool		timed;
} LockWait;

#define LC_LOCK LWLock
#define LC_END INVALID_PGPROCNO
#define LC_SPIN SpinWait
#define LC_DELAY SpinDelayStatus
#define LC_WAIT LockWait

/* The same layout as the server's, which debuggers know. */
typedef proclist_head lc_list;
typedef proclist_node lc_link;

StaticAssertDecl(sizeof(LWLock) == 16, "LWLock is as in the server");
StaticAssertDecl(LW_EXCLUSIVE == 0 && LW_SHARED == 1 && LW_WAIT_UNTIL_FREE == 2,
				 "modes are as in lock_core.h");

static inline uint32
lc_read(LWLock *lock)
{
	return pg_atomic_read_u32(&lock->state);
}

static inline bool
lc_cas(LWLock *lock, uint32 *old, uint32 new)
{
	return pg_atomic_compare_exchange_u32(&lock->state, old, new);
}

static inline uint32
lc_fetch_or(LWLock *lock, uint32 bits)
{
	return pg_atomic_fetch_or_u32(&lock->state, bits);
}

static inline uint32
lc_fetch_and(LWLock *lock, uint32 bits)
{
	return pg_atomic_fetch_and_u32(&lock->state, bits);
}

static inline uint32
lc_fetch_sub(LWLock *lock, uint32 value)
{
	return pg_atomic_fetch_sub_u32(&lock->state, (int32) value);
}

static inline void
lc_write_barrier(void)
{
	pg_write_barrier();
}

static inline lc_list *
lc_waiters(LWLock *lock)
{
	return &lock->waiters;
}

static inline lc_link *
lc_link_of(int process)
{
	return &GetPGProcByNumber(process)->lwWaitLink;
}

/*
 * Written by the process itself when it queues and by whoever wakes it, who
 * holds no lock by then: one byte, read after the semaphore was taken.
 */
static inline int
lc_wait_state(int process)
{
	return *(volatile uint8 *) &GetPGProcByNumber(process)->lwWaiting;
}

static inline void
lc_set_wait_state(int process, int state)
{
	*(volatile uint8 *) &GetPGProcByNumber(process)->lwWaiting = state;
}

static inline int
lc_wait_mode(int process)
{
	return GetPGProcByNumber(process)->lwWaitMode;
}

static inline void
lc_set_wait_mode(int process, int mode)
{
	GetPGProcByNumber(process)->lwWaitMode = mode;
}

static inline int
lc_self(void)
{
	return PROCESS_NUMBER(MyProc);
}

/*
 * There is no way to wait without a PGPROC, which only a process that starts
 * or ends has not got, or twice at once.
 */
static inline void
lc_check_can_wait(void)
{
	if (MyProc == NULL)
		elog(PANIC, "cannot wait without a PGPROC structure");
	if (MyProc->lwWaiting != 0)
		elog(PANIC, "queueing for lock while waiting on another one");
}

static inline void
lc_park(int process)
{
	PGSemaphoreLock(GetPGProcByNumber(process)->sem);
}

static inline void
lc_unpark(int process)
{
	PGSemaphoreUnlock(GetPGProcByNumber(process)->sem);
}

static inline void
lc_pause(uint32 n)
{
	spin_pause(n);
}

static inline void
lc_delay_begin(SpinDelayStatus *delay)
{
	init_spin_delay(delay, "lwlock.c", __LINE__, "LWLockWaitListLock");
}

static inline void
lc_delay(SpinDelayStatus *delay)
{
	lwtune_perform_spin_delay(delay);
}

static inline void
lc_delay_end(LWLock *lock, SpinDelayStatus *delay)
{
	if (delay->delays > 0)
		stat_add(lock->tranche, STAT_spin_delay_count, delay->delays);
	lwtune_finish_spin_delay(delay);
}

static inline void
lc_spin_begin(LWLock *lock, SpinWait *spin)
{
	spin_begin(lock, spin);
}

static inline void
lc_spin_end(LWLock *lock, SpinWait *spin, bool success)
{
	spin_end(lock, spin, success);
}

static inline void
lc_count_dequeue(LWLock *lock)
{
	stat_add(lock->tranche, STAT_dequeue_self_count, 1);
}

/*
 * Around every sleep.  The clock is read only if times are tracked.
 */
static inline void
lc_wait_begin(LWLock *lock, int mode, LockWait *wait)
{
	stat_add(lock->tranche, STAT_block_count, 1);
	wait->timed = lwtune_shared != NULL && stat_tracks(TRACK_TIMING);
	if (wait->timed)
		INSTR_TIME_SET_CURRENT(wait->start);
	pgstat_report_wait_start(PG_WAIT_LWLOCK | lock->tranche);
	LWTUNE_PROBE(WAIT_START, lock, mode);
}

static inline void
lc_wait_end(LWLock *lock, int mode, LockWait *wait)
{
	LWTUNE_PROBE(WAIT_DONE, lock, mode);
	pgstat_report_wait_end();
	if (wait->timed)
	{
		instr_time	elapsed;

		INSTR_TIME_SET_CURRENT(elapsed);
		INSTR_TIME_SUBTRACT(elapsed, wait->start);
		stat_add_wait(lock->tranche, (uint64) (INSTR_TIME_GET_DOUBLE(elapsed) * 1e9));
	}
}

#endif							/* LWTUNE_LOCK_SERVER_H */
