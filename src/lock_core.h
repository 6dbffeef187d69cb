/*-------------------------------------------------------------------------
 *
 * lock_core.h
 *	  Every transition of a lightweight lock's state.
 *
 * The protocol and its invariants are in README, section "Locks"; comments
 * here say which step is which.  This file knows neither PostgreSQL's headers
 * nor an operating system: whoever includes it provides, before it, a shim and
 * the state word (lock_word_pgNN.h).  So the same text is compiled into the
 * server and into the harnesses under test/lock.
 *
 * The shim:
 *
 *	LC_LOCK								type of a lock
 *	LC_VAR								type of a variable to wait for
 *	LC_END								process number that ends a list
 *	LC_SPIN								what spinning needs to know, fields
 *										budget, spent and step, in pauses
 *	LC_DELAY							what waiting for the list lock needs
 *
 *	uint32_t lc_read(lock)				the state word; no ordering
 *	bool lc_cas(lock, *old, new)		full barrier; on failure *old is the
 *										word that was found
 *	uint32_t lc_fetch_or, lc_fetch_and, lc_fetch_sub(lock, bits)
 *										full barrier; return the old word
 *	void lc_write_barrier(void)			stores before it are seen before
 *										stores after it
 *	lc_list *lc_waiters(lock)			protected by LC_LIST_LOCKED
 *	lc_link *lc_link_of(process)		protected by the lock on the list that
 *										the process is in
 *	lc_wait_state, lc_set_wait_state	of a process
 *	lc_wait_mode, lc_set_wait_mode
 *	int lc_self(void)					this process
 *	void lc_check_can_wait(void)		does not return if it cannot
 *	void lc_park(process)				semaphore: down, sleeping if need be;
 *	void lc_unpark(process)				up.  A wake-up may be for somebody else.
 *	void lc_pause(n)
 *	lc_delay_begin(*delay), lc_delay(*delay), lc_delay_end(lock, *delay)
 *	lc_spin_begin(lock, *spin)			sets spin->budget, 0 for not to spin,
 *										and spin->step, before the first look
 *	lc_spin_end(lock, *spin, success)
 *	lc_wait_begin(lock, mode, *wait), lc_wait_end(lock, mode, *wait)
 *										around every sleep; type LC_WAIT
 *	lc_count_dequeue(lock)				queued in vain
 *	uint64_t lc_var_read(lock, var), lc_var_peek(var)
 *	void lc_var_write(var, value)		with the list locked
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_LOCK_CORE_H
#define LWTUNE_LOCK_CORE_H

/* Values of LWLockMode and LWLockWaitState, which a debugger may print. */
#define LC_MODE_EXCLUSIVE	0
#define LC_MODE_SHARED		1
#define LC_MODE_UNTIL_FREE	2

#define LC_NOT_WAITING		0
#define LC_WAITING			1	/* in the wait list of a lock */
#define LC_PENDING_WAKEUP	2	/* taken off it, but not woken yet */

/* Between two looks at the lock, pauses double up to so many. */
#define LC_MAX_SPIN_STEP	8

/*
 * Attempts: phases 1 and 3.
 */
static inline bool
lc_is_free(uint32_t state, int mode)
{
	return (state & (mode == LC_MODE_EXCLUSIVE ? LC_HOLDERS : LC_EXCLUSIVE)) == 0;
}

static inline uint32_t
lc_value(int mode)
{
	return mode == LC_MODE_EXCLUSIVE ? LC_EXCLUSIVE : LC_SHARED;
}

/*
 * Take the lock if it is free.  Success is a full barrier: what the last
 * holder wrote before its release is visible after it.  Failure is only a
 * read, which suffices: see README, "Why a failed attempt needs no barrier".
 */
static inline bool
lc_try(LC_LOCK *lock, int mode)
{
	uint32_t	state = lc_read(lock);

	while (lc_is_free(state, mode))
	{
		if (lc_cas(lock, &state, state + lc_value(mode)))
			return true;
	}
	return false;
}

/*
 * Give up this process's hold; returns the word that is left.  A full barrier,
 * so nothing done under the lock moves behind it.
 */
static inline uint32_t
lc_drop(LC_LOCK *lock, int mode)
{
	return lc_fetch_sub(lock, lc_value(mode)) - lc_value(mode);
}

/*
 * Spinning, between phases 1 and 2.  Look less and less often, for each look
 * takes the line from the holder who wants to release it.
 */
static inline bool
lc_spin_on(LC_SPIN *spin)
{
	uint32_t	left = spin->budget - spin->spent;
	uint32_t	now = spin->step < left ? spin->step : left;

	if (left == 0)
		return false;
	lc_pause(now);
	spin->spent += now;
	if (spin->step < LC_MAX_SPIN_STEP)
		spin->step *= 2;
	return true;
}

/* Spin until the lock is had; false if the budget ended first. */
static bool
lc_spin_and_try(LC_LOCK *lock, int mode)
{
	LC_SPIN		spin;
	bool		success = false;

	lc_spin_begin(lock, &spin);
	if (spin.budget == 0)
		return false;
	while (!success && lc_spin_on(&spin))
	{
		uint32_t	state = lc_read(lock);

		success = lc_is_free(state, mode) && lc_cas(lock, &state, state + lc_value(mode));
	}
	lc_spin_end(lock, &spin, success);
	return success;
}

/*
 * Spin until the lock was seen free or, if there is a variable, that differed
 * from oldval; false if the budget ended first.  Only a hint: takes nothing.
 */
static bool
lc_spin_and_look(LC_LOCK *lock, int mode, LC_VAR *var, uint64_t oldval)
{
	LC_SPIN		spin;
	bool		success = false;

	lc_spin_begin(lock, &spin);
	if (spin.budget == 0)
		return false;
	/* to look seldom is for the sake of those who take the lock */
	spin.step = 1;
	while (!success && lc_spin_on(&spin))
		success = lc_is_free(lc_read(lock), mode) || (var && lc_var_peek(var) != oldval);
	lc_spin_end(lock, &spin, success);
	return success;
}

/*
 * The wait list.  A list is doubly linked by process numbers; a link that is
 * in no list is all zeros.
 */
static inline void
lc_list_lock(LC_LOCK *lock)
{
	/* full barrier: see what the last one did to the list */
	while (lc_fetch_or(lock, LC_LIST_LOCKED) & LC_LIST_LOCKED)
	{
		LC_DELAY	delay;

		lc_delay_begin(&delay);
		do
			lc_delay(&delay);
		while (lc_read(lock) & LC_LIST_LOCKED);
		lc_delay_end(lock, &delay);
	}
}

static inline void
lc_list_unlock(LC_LOCK *lock)
{
	/* full barrier: the list is seen as it is before it is seen unlocked */
	lc_fetch_and(lock, ~LC_LIST_LOCKED);
}

static inline bool
lc_is_empty(const lc_list *list)
{
	return list->head == LC_END;
}

static inline void
lc_push_head(lc_list *list, int process)
{
	lc_link    *link = lc_link_of(process);

	link->prev = LC_END;
	link->next = list->head;
	if (list->head == LC_END)
		list->tail = process;
	else
		lc_link_of(list->head)->prev = process;
	list->head = process;
}

static inline void
lc_push_tail(lc_list *list, int process)
{
	lc_link    *link = lc_link_of(process);

	link->next = LC_END;
	link->prev = list->tail;
	if (list->tail == LC_END)
		list->head = process;
	else
		lc_link_of(list->tail)->next = process;
	list->tail = process;
}

static inline void
lc_remove(lc_list *list, int process)
{
	lc_link    *link = lc_link_of(process);

	if (link->prev == LC_END)
		list->head = link->next;
	else
		lc_link_of(link->prev)->next = link->next;
	if (link->next == LC_END)
		list->tail = link->prev;
	else
		lc_link_of(link->next)->prev = link->prev;
	link->next = link->prev = 0;
}

/*
 * Phase 2: queue.  Those that only want to see the lock free are in front, for
 * whoever wakes them need not look further than to the first other one.
 */
static void
lc_queue(LC_LOCK *lock, int mode)
{
	int			self;

	lc_check_can_wait();
	self = lc_self();
	lc_list_lock(lock);
	lc_fetch_or(lock, LC_HAS_WAITERS);
	lc_set_wait_state(self, LC_WAITING);
	lc_set_wait_mode(self, mode);
	if (mode == LC_MODE_UNTIL_FREE)
		lc_push_head(lc_waiters(lock), self);
	else
		lc_push_tail(lc_waiters(lock), self);
	lc_list_unlock(lock);
}

/*
 * Phase 4: sleep until somebody took this process off the list and said so.
 * The semaphore is shared with other uses: wake-ups that were not for this one
 * are counted, and given back when the caller is done.
 */
static int
lc_sleep(int self)
{
	int			absorbed = 0;

	for (;;)
	{
		lc_park(self);
		if (lc_wait_state(self) == LC_NOT_WAITING)
			return absorbed;
		absorbed++;
	}
}

static inline void
lc_give_back(int self, int absorbed)
{
	while (absorbed-- > 0)
		lc_unpark(self);
}

/*
 * Undo phase 2, having found that there is nothing to wait for.
 */
static void
lc_dequeue_self(LC_LOCK *lock)
{
	int			self = lc_self();
	bool		listed;

	lc_count_dequeue(lock);

	lc_list_lock(lock);
	listed = lc_wait_state(self) == LC_WAITING;
	if (listed)
		lc_remove(lc_waiters(lock), self);
	if (lc_is_empty(lc_waiters(lock)) && (lc_read(lock) & LC_HAS_WAITERS))
		lc_fetch_and(lock, ~LC_HAS_WAITERS);
	lc_list_unlock(lock);

	if (listed)
		lc_set_wait_state(self, LC_NOT_WAITING);
	else
	{
		/*
		 * Somebody took this process off and forbade further wake-ups until it
		 * has run, which it does now; and the wake-up is on its way, and must
		 * not arrive at something else that this process waits for later.
		 */
		lc_allow_release(lock);
		lc_give_back(self, lc_sleep(self));
	}
}

/*
 * Move a waiter to a private list.  The mark lets lc_dequeue_self() know that
 * it is not in the lock's list any more.
 */
static inline void
lc_take_off(lc_list *waiters, lc_list *wakeup, int process)
{
	lc_remove(waiters, process);
	lc_push_tail(wakeup, process);
	lc_set_wait_state(process, LC_PENDING_WAKEUP);
}

/*
 * Wake everyone on a private list.  A process that is seen not to wait any
 * more may queue for another lock at once, with the same link: so unlink it
 * first, and let that be visible before the other.
 */
static inline void
lc_wake_all(lc_list *wakeup)
{
	while (!lc_is_empty(wakeup))
	{
		int			process = wakeup->head;

		lc_remove(wakeup, process);
		lc_write_barrier();
		lc_set_wait_state(process, LC_NOT_WAITING);
		lc_unpark(process);
	}
}

/*
 * The lock became free: wake those who have a chance.  These are all that wait
 * until it is free, and the first exclusive waiter, or all shared ones if the
 * first who wants to have the lock is one of them.
 */
static void
lc_wake_waiters(LC_LOCK *lock)
{
	lc_list		wakeup = {LC_END, LC_END};
	lc_list    *waiters = lc_waiters(lock);
	bool		woke_retrier = false;
	uint32_t	state;
	int			next;

	lc_list_lock(lock);
	for (int process = waiters->head; process != LC_END; process = next)
	{
		int			mode = lc_wait_mode(process);

		next = lc_link_of(process)->next;
		if (woke_retrier && mode == LC_MODE_EXCLUSIVE)
			continue;
		lc_take_off(waiters, &wakeup, process);
		if (mode != LC_MODE_UNTIL_FREE)
			woke_retrier = true;
		if (mode == LC_MODE_EXCLUSIVE)
			break;
	}

	/*
	 * In one step: forbid further wake-ups until one that was woken has
	 * retried, if any will; note whether anybody is left; unlock the list.
	 * Full barrier, as in lc_list_unlock().
	 */
	state = lc_read(lock);
	for (;;)
	{
		uint32_t	desired = lc_with_release_ok(state, !woke_retrier) & ~LC_LIST_LOCKED;

		if (lc_is_empty(waiters))
			desired &= ~LC_HAS_WAITERS;
		if (lc_cas(lock, &state, desired))
			break;
	}
	lc_wake_all(&wakeup);
}

/*
 * Acquire a lock that was not free at the first attempt.  Returns how many
 * wake-ups were absorbed, to be given back with lc_give_back() when the lock
 * is on record as held; *slept tells whether this process had to.
 */
static int
lc_acquire_contended(LC_LOCK *lock, int mode, bool *slept)
{
	int			absorbed = 0;

	*slept = false;
	for (;;)
	{
		LC_WAIT		wait;

		if (lc_spin_and_try(lock, mode))
			break;
		lc_queue(lock, mode);

		/*
		 * Phase 3.  A holder that released before it could see us queued left
		 * the lock free, and this attempt sees that; one that releases later
		 * sees us queued.
		 */
		if (lc_try(lock, mode))
		{
			lc_dequeue_self(lock);
			break;
		}

		lc_wait_begin(lock, mode, &wait);
		absorbed += lc_sleep(lc_self());
		/* it was forbidden on our behalf, see lc_wake_waiters() */
		lc_allow_release(lock);
		lc_wait_end(lock, mode, &wait);
		*slept = true;

		/* phase 1 again */
		if (lc_try(lock, mode))
			break;
	}
	return absorbed;
}

/*
 * Acquire a lock that was not free at the first attempt, or wait until it is
 * free: true if it was acquired.
 */
static bool
lc_acquire_or_wait_contended(LC_LOCK *lock, int mode, int *absorbed)
{
	LC_WAIT		wait;

	*absorbed = 0;
	if (lc_spin_and_look(lock, mode, NULL, 0))
		return false;
	lc_queue(lock, LC_MODE_UNTIL_FREE);

	/*
	 * Having it now counts as acquired: our place in the queue may have kept
	 * somebody from being woken, who is woken when we release.
	 */
	if (lc_try(lock, mode))
	{
		lc_dequeue_self(lock);
		return true;
	}
	lc_wait_begin(lock, mode, &wait);
	*absorbed = lc_sleep(lc_self());
	lc_wait_end(lock, mode, &wait);
	return false;
}

/*
 * Must somebody wait who last saw the variable as oldval?  If not because the
 * lock is free, *is_free; if not because the variable changed, *newval is set.
 */
static bool
lc_var_blocks(LC_LOCK *lock, LC_VAR *var, uint64_t oldval, uint64_t *newval, bool *is_free)
{
	uint64_t	value;

	*is_free = (lc_read(lock) & LC_EXCLUSIVE) == 0;
	if (*is_free)
		return false;
	value = lc_var_read(lock, var);
	if (value == oldval)
		return true;
	*newval = value;
	return false;
}

/*
 * Wait until the lock is free (true; shared holders do not matter) or the
 * variable is not oldval any more (false, and it is in *newval).
 */
static bool
lc_wait_for_var(LC_LOCK *lock, LC_VAR *var, uint64_t oldval, uint64_t *newval, int *absorbed)
{
	bool		is_free;

	*absorbed = 0;
	while (lc_var_blocks(lock, var, oldval, newval, &is_free))
	{
		LC_WAIT		wait;

		if (lc_spin_and_look(lock, LC_MODE_SHARED, var, oldval))
			continue;
		lc_queue(lock, LC_MODE_UNTIL_FREE);
		/* a retrier that has not run yet must not keep us from being woken */
		lc_allow_release(lock);
		if (!lc_var_blocks(lock, var, oldval, newval, &is_free))
		{
			lc_dequeue_self(lock);
			break;
		}
		lc_wait_begin(lock, LC_MODE_EXCLUSIVE, &wait);
		*absorbed += lc_sleep(lc_self());
		lc_wait_end(lock, LC_MODE_EXCLUSIVE, &wait);
	}
	return is_free;
}

/*
 * Set the variable, and wake those who wait for it.  The list is locked while
 * it is set, so whoever queued before saw the old value and is woken, and
 * whoever queues later sees the new one.
 */
static void
lc_update_var(LC_LOCK *lock, LC_VAR *var, uint64_t value)
{
	lc_list		wakeup = {LC_END, LC_END};
	lc_list    *waiters = lc_waiters(lock);

	lc_list_lock(lock);
	lc_var_write(var, value);
	while (!lc_is_empty(waiters) && lc_wait_mode(waiters->head) == LC_MODE_UNTIL_FREE)
		lc_take_off(waiters, &wakeup, waiters->head);
	lc_list_unlock(lock);
	lc_wake_all(&wakeup);
}

/*
 * Set the variable to what it shall be while nobody holds the lock.
 */
static void
lc_clear_var(LC_LOCK *lock, LC_VAR *var, uint64_t value)
{
	lc_list_lock(lock);
	lc_var_write(var, value);
	lc_list_unlock(lock);
}

#endif							/* LWTUNE_LOCK_CORE_H */
