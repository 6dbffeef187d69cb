/*-------------------------------------------------------------------------
 *
 * lock_ops.h
 *	  What lock_entry.h and lock_pgNN.c do around the core, for the harnesses.
 *
 * Included behind lock_core.h.  Counting, probes and the list of held locks
 * are left out; try, then contend, and give back what was absorbed is kept.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LOCK_OPS_H
#define LOCK_OPS_H

static void
op_acquire(LC_LOCK *lock, int mode)
{
	bool		slept;

	if (!lc_try(lock, mode))
		lc_give_back(lc_self(), lc_acquire_contended(lock, mode, &slept));
}

static bool
op_conditional(LC_LOCK *lock, int mode)
{
	return lc_try(lock, mode);
}

static bool
op_acquire_or_wait(LC_LOCK *lock, int mode)
{
	int			absorbed;
	bool		acquired;

	if (lc_try(lock, mode))
		return true;
	acquired = lc_acquire_or_wait_contended(lock, mode, &absorbed);
	lc_give_back(lc_self(), absorbed);
	return acquired;
}

static void
op_release(LC_LOCK *lock, int mode)
{
	if (lc_release_wakes(lc_drop(lock, mode)))
		lc_wake_waiters(lock);
}

static bool
op_wait_for_var(LC_LOCK *lock, LC_VAR *var, uint64_t oldval, uint64_t *newval)
{
	int			absorbed;
	bool		is_free = lc_wait_for_var(lock, var, oldval, newval, &absorbed);

	lc_give_back(lc_self(), absorbed);
	return is_free;
}

#endif							/* LOCK_OPS_H */
