/*-------------------------------------------------------------------------
 *
 * lock_pg15.c
 *	  The replacements for PostgreSQL 15.
 *
 * What is particular to this major: how processes are numbered, that the
 * variable of a WAL insertion lock is a plain uint64 protected by the lock on
 * the wait list, and ForEachLWLockHeldByMe().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#define PROCESS_NUMBER(proc) ((proc)->pgprocno)
#define LC_VAR uint64

#include "lock_server.h"
#include "lock_word_pg15.h"

static uint64 lc_var_read(LWLock *lock, uint64 *var);

/*
 * A look at the variable that may be wrong by a moment; no lock is taken.
 */
static inline uint64
lc_var_peek(uint64 *var)
{
	return *(volatile uint64 *) var;
}

static inline void
lc_var_write(uint64 *var, uint64 value)
{
	*var = value;
}

#include "lock_core.h"

static uint64
lc_var_read(LWLock *lock, uint64 *var)
{
	uint64		value;

	lc_list_lock(lock);
	value = *var;
	lc_list_unlock(lock);
	return value;
}

#include "lock_entry.h"

/*
 * True if the lock is free (of an exclusive holder), false if the variable is
 * not oldval any more and its value is in *newval.
 */
bool
lwtune_LWLockWaitForVar(LWLock *lock, uint64 *valptr, uint64 oldval, uint64 *newval)
{
	int			absorbed;
	bool		is_free;

	HOLD_INTERRUPTS();
	is_free = lc_wait_for_var(lock, valptr, oldval, newval, &absorbed);
	if (unlikely(absorbed > 0))
		lc_give_back(lc_self(), absorbed);
	RESUME_INTERRUPTS();
	return is_free;
}

void
lwtune_LWLockUpdateVar(LWLock *lock, uint64 *valptr, uint64 val)
{
	Assert(lc_read(lock) & LC_EXCLUSIVE);
	lc_update_var(lock, valptr, val);
}

/*
 * The variable is set before the lock is released: whoever acquires it next
 * may set it again.
 */
void
lwtune_LWLockReleaseClearVar(LWLock *lock, uint64 *valptr, uint64 val)
{
	lc_clear_var(lock, valptr, val);
	lwtune_LWLockRelease(lock);
}

void
lwtune_ForEachLWLockHeldByMe(void (*callback) (LWLock *, LWLockMode, void *), void *context)
{
	for (int i = 0; i < nheld; i++)
		callback(held[i].lock, held[i].mode, context);
}
