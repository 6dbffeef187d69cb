/*-------------------------------------------------------------------------
 *
 * sched_core.c
 *	  src/lock_core.h, compiled for the scheduler.
 *
 * Nothing but the core and the calls to it is in this file, for how it is
 * compiled (see sched_shim.c) and because there is one object of it for each
 * mutant.
 *
 *-------------------------------------------------------------------------
 */
#include "sched_shim.h"

static uint64_t lc_var_read(SimLock *lock, SimVar *var);

#include "lock_word_pg15.h"
#include "lock_core.h"
#include "lock_ops.h"

/* as in lock_pg15.c */
static uint64_t
lc_var_read(SimLock *lock, SimVar *var)
{
	uint64_t	value;

	lc_list_lock(lock);
	value = lc_var_peek(var);
	lc_list_unlock(lock);
	return value;
}

const char *const core_mutant = LC_MUTANT;

const WordBits core_bits = {
	.has_waiters = LC_HAS_WAITERS,
	.release_ok = LC_RELEASE_OK,
	.list_locked = LC_LIST_LOCKED,
	.exclusive = LC_EXCLUSIVE,
	.holders = LC_HOLDERS,
	.list_end = LC_END,
	.not_waiting = LC_NOT_WAITING,
	.waiting = LC_WAITING,
	.until_free = LC_MODE_UNTIL_FREE
};

static SimLock locks[MAX_LOCKS] = {0, 1, 2};
static SimVar vars[MAX_LOCKS] = {LOCK_CELL(0, CELL_VAR), LOCK_CELL(1, CELL_VAR), LOCK_CELL(2, CELL_VAR)};

/*
 * As a lock is initialized.
 */
void
core_begin(void)
{
	shim_begin();
	for (int lock = 0; lock < MAX_LOCKS; lock++)
	{
		memory_put(0, LOCK_CELL(lock, CELL_WORD), LC_RELEASE_OK);
		memory_put(0, LOCK_CELL(lock, CELL_HEAD), LC_END);
		memory_put(0, LOCK_CELL(lock, CELL_TAIL), LC_END);
	}
}

void
core_acquire(int lock, int mode)
{
	check_op_begin(OP_ACQUIRE, lock, mode, 0);
	op_acquire(&locks[lock], mode);
	check_op_end(true, 0);
}

bool
core_conditional(int lock, int mode)
{
	bool		acquired;

	check_op_begin(OP_CONDITIONAL, lock, mode, 0);
	acquired = op_conditional(&locks[lock], mode);
	check_op_end(acquired, 0);
	return acquired;
}

bool
core_acquire_or_wait(int lock, int mode)
{
	bool		acquired;

	check_op_begin(OP_ACQUIRE_OR_WAIT, lock, mode, 0);
	acquired = op_acquire_or_wait(&locks[lock], mode);
	check_op_end(acquired, 0);
	return acquired;
}

void
core_release(int lock, int mode)
{
	check_op_begin(OP_RELEASE, lock, mode, 0);
	op_release(&locks[lock], mode);
	check_op_end(true, 0);
}

bool
core_wait_for_var(int lock, int64_t oldval, int64_t *newval)
{
	uint64_t	value = (uint64_t) oldval;
	bool		is_free;

	check_op_begin(OP_WAIT_FOR_VAR, lock, LC_MODE_EXCLUSIVE, oldval);
	is_free = op_wait_for_var(&locks[lock], &vars[lock], (uint64_t) oldval, &value);
	check_op_end(is_free, (int64_t) value);
	*newval = (int64_t) value;
	return is_free;
}

void
core_update_var(int lock, int64_t value)
{
	check_op_begin(OP_UPDATE_VAR, lock, LC_MODE_EXCLUSIVE, 0);
	lc_update_var(&locks[lock], &vars[lock], (uint64_t) value);
	check_op_end(true, value);
}

void
core_release_clear_var(int lock, int64_t value)
{
	check_op_begin(OP_CLEAR_VAR, lock, LC_MODE_EXCLUSIVE, 0);
	lc_clear_var(&locks[lock], &vars[lock], (uint64_t) value);
	check_op_end(true, value);
	core_release(lock, LC_MODE_EXCLUSIVE);
}
