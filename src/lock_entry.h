/*-------------------------------------------------------------------------
 *
 * lock_entry.h
 *	  The replacements that are the same for every major.
 *
 * Included by the one lock_pgNN.c behind lock_core.h.  An uncontended acquire
 * and release touch the lock's line, this process's list of held locks, one
 * line of its counters, and one line of settings that only a reload writes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_LOCK_ENTRY_H
#define LWTUNE_LOCK_ENTRY_H

/* lwlock.c's MAX_SIMUL_LWLOCKS */
#define MAX_HELD 200

typedef struct HeldLock
{
	LWLock	   *lock;
	LWLockMode	mode;
} HeldLock;

static int	nheld = 0;
static HeldLock held[MAX_HELD];

static pg_noinline pg_attribute_cold void
too_many_held(void)
{
	elog(ERROR, "too many LWLocks taken");
}

/* Before the lock is taken, since an ERROR must not leave it held. */
static inline void
check_room(void)
{
	if (unlikely(nheld >= MAX_HELD))
		too_many_held();
}

static inline void
remember_held(LWLock *lock, LWLockMode mode)
{
	held[nheld].lock = lock;
	held[nheld++].mode = mode;
	StaticAssertStmt((int) STAT_ex_acquire_count == (int) LW_EXCLUSIVE &&
					 (int) STAT_sh_acquire_count == (int) LW_SHARED,
					 "the counter of acquisitions is indexed by mode");
	stat_add(lock->tranche, (StatCounter) mode, 1);
}

static pg_noinline bool
acquire_contended(LWLock *lock, LWLockMode mode)
{
	bool		slept;
	int			absorbed = lc_acquire_contended(lock, mode, &slept);

	LWTUNE_PROBE(ACQUIRE, lock, mode);
	remember_held(lock, mode);
	if (unlikely(absorbed > 0))
		lc_give_back(lc_self(), absorbed);
	return !slept;
}

/*
 * True if it was not necessary to sleep.  Interrupts are held off until the
 * lock is released.
 */
bool
lwtune_LWLockAcquire(LWLock *lock, LWLockMode mode)
{
	Assert(mode == LW_SHARED || mode == LW_EXCLUSIVE);
	Assert(!(MyProc == NULL && IsUnderPostmaster));

	check_room();
	HOLD_INTERRUPTS();
	if (unlikely(!lc_try(lock, mode)))
		return acquire_contended(lock, mode);
	LWTUNE_PROBE(ACQUIRE, lock, mode);
	remember_held(lock, mode);
	return true;
}

/*
 * False, without any side effect, if the lock is not free.
 */
bool
lwtune_LWLockConditionalAcquire(LWLock *lock, LWLockMode mode)
{
	Assert(mode == LW_SHARED || mode == LW_EXCLUSIVE);

	check_room();
	HOLD_INTERRUPTS();
	if (lc_try(lock, mode))
	{
		remember_held(lock, mode);
		LWTUNE_PROBE(CONDACQUIRE, lock, mode);
		return true;
	}
	RESUME_INTERRUPTS();
	stat_add(lock->tranche, STAT_conditional_fail_count, 1);
	LWTUNE_PROBE(CONDACQUIRE_FAIL, lock, mode);
	return false;
}

/*
 * True if the lock was free, and is acquired; false if it was not, but has been
 * released meanwhile (or shortly before: a wake-up may come late).
 */
bool
lwtune_LWLockAcquireOrWait(LWLock *lock, LWLockMode mode)
{
	bool		acquired;

	Assert(mode == LW_SHARED || mode == LW_EXCLUSIVE);

	check_room();
	HOLD_INTERRUPTS();
	acquired = lc_try(lock, mode);
	if (!acquired)
	{
		int			absorbed;

		acquired = lc_acquire_or_wait_contended(lock, mode, &absorbed);
		if (unlikely(absorbed > 0))
			lc_give_back(lc_self(), absorbed);
	}
	if (acquired)
	{
		remember_held(lock, mode);
		LWTUNE_PROBE(ACQUIRE_OR_WAIT, lock, mode);
	}
	else
	{
		RESUME_INTERRUPTS();
		LWTUNE_PROBE(ACQUIRE_OR_WAIT_FAIL, lock, mode);
	}
	return acquired;
}

/*
 * Take a lock off the list of held ones that is not the last.  Returns its
 * mode.
 */
static pg_noinline LWLockMode
forget_held_earlier(LWLock *lock)
{
	int			i = nheld;
	LWLockMode	mode;

	while (--i >= 0 && held[i].lock != lock)
		;
	if (i < 0)
		elog(ERROR, "lock %s is not held", lwtune_GetLWLockIdentifier(PG_WAIT_LWLOCK, lock->tranche));
	mode = held[i].mode;
	nheld--;
	memmove(&held[i], &held[i + 1], (nheld - i) * sizeof(HeldLock));
	return mode;
}

static pg_noinline void
wake_waiters(LWLock *lock)
{
	lc_wake_waiters(lock);
}

void
lwtune_LWLockRelease(LWLock *lock)
{
	int			last = nheld - 1;
	LWLockMode	mode;
	uint32		state;

	/* mostly, but not always, the last that was acquired */
	if (likely(last >= 0 && held[last].lock == lock))
	{
		mode = held[last].mode;
		nheld = last;
	}
	else
		mode = forget_held_earlier(lock);

	state = lc_drop(lock, mode);
	Assert(!(state & LC_EXCLUSIVE));
	LWTUNE_PROBE_RELEASE(lock);
	if (unlikely(lc_release_wakes(state)))
		wake_waiters(lock);
	RESUME_INTERRUPTS();
}

/*
 * After an error.  Error recovery has set the count of interrupt holdoffs
 * already, so it stays as it is.
 */
void
lwtune_LWLockReleaseAll(void)
{
	while (nheld > 0)
	{
		HOLD_INTERRUPTS();
		lwtune_LWLockRelease(held[nheld - 1].lock);
	}
}

bool
lwtune_LWLockHeldByMe(LWLock *lock)
{
	for (int i = 0; i < nheld; i++)
	{
		if (held[i].lock == lock)
			return true;
	}
	return false;
}

/*
 * One of an array of nlocks locks that are stride bytes apart?
 */
bool
lwtune_LWLockAnyHeldByMe(LWLock *lock, int nlocks, size_t stride)
{
	for (int i = 0; i < nheld; i++)
	{
		size_t		offset = (uintptr_t) held[i].lock - (uintptr_t) lock;

		if ((uintptr_t) held[i].lock >= (uintptr_t) lock &&
			offset < nlocks * stride && offset % stride == 0)
			return true;
	}
	return false;
}

bool
lwtune_LWLockHeldByMeInMode(LWLock *lock, LWLockMode mode)
{
	for (int i = 0; i < nheld; i++)
	{
		if (held[i].lock == lock && held[i].mode == mode)
			return true;
	}
	return false;
}

#endif							/* LWTUNE_LOCK_ENTRY_H */
