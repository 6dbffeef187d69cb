/*-------------------------------------------------------------------------
 *
 * sched_check.c
 *	  What must be true of a lock: at each step, and at the end.
 *
 * Who holds a lock follows from the changes of its word, each of which must be
 * one process's acquisition or release.  The rest is looked at in memory
 * itself, where no store is in a buffer any more; a list's lock is released
 * by an atomic operation, so while it is free its list is there as a whole.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <string.h>

#include "scheduler.h"

typedef struct Watched
{
	int			nshared;
	int			exclusive;		/* process, or -1 */
	int			list_owner;		/* process, or -1 */
	uint32_t	taken_at;		/* the last time it ceased to be free, */
	uint32_t	exclusive_at;	/* for shared ones too; */
	bool		cleared;		/* the variable was set without a wake-up */

	/* while a wake-up has the list locked: the list that it shall leave */
	bool		expecting;
	bool		wakes_retrier;
	int			nexpected;
	int			expected[MAX_PROCESSES];
} Watched;

static Watched watched[MAX_LOCKS];
static uint32_t checked_at;

static uint32_t
word_of(int lock)
{
	return (uint32_t) memory_value(LOCK_CELL(lock, CELL_WORD));
}

static int
mode_of(int p)
{
	return (int) memory_value(PROCESS_CELL(p, CELL_MODE));
}

void
check_begin(void)
{
	memset(watched, 0, sizeof(watched));
	for (int lock = 0; lock < MAX_LOCKS; lock++)
		watched[lock].exclusive = watched[lock].list_owner = -1;
	for (int p = 0; p < MAX_PROCESSES; p++)
	{
		for (int lock = 0; lock < MAX_LOCKS; lock++)
			process[p].holds[lock] = MODE_NONE;
	}
	checked_at = 0;
}

/*
 * The wait list as it is in memory; returns its length.
 */
static int
read_list(int lock, int *list)
{
	int			n = 0;
	int			before = core_bits.list_end;
	int			p = (int) memory_value(LOCK_CELL(lock, CELL_HEAD));

	for (; p != core_bits.list_end; p = (int) memory_value(PROCESS_CELL(p, CELL_NEXT)))
	{
		if (p < 0 || p >= run.program.nprocesses)
			fail("the wait list of lock%d leads to process %d, which does not exist", lock, p);
		if (n == run.program.nprocesses)
			fail("the wait list of lock%d is a circle", lock);
		if (memory_value(PROCESS_CELL(p, CELL_PREV)) != before)
			fail("in the wait list of lock%d, p%d's link back is wrong", lock, p);
		list[n++] = before = p;
	}
	if (memory_value(LOCK_CELL(lock, CELL_TAIL)) != before)
		fail("the wait list of lock%d does not end at its tail", lock);
	return n;
}

/*
 * The list that a wake-up shall leave: without all that wait until the lock is
 * free, without the first exclusive waiter or, if the first one that wants the
 * lock is shared, all shared ones.  An update takes only the first kind.
 */
static void
expect_list(int p, int lock)
{
	Watched    *w = &watched[lock];
	int			list[MAX_PROCESSES];
	int			n = read_list(lock, list);
	int			first = MODE_NONE;

	w->expecting = true;
	w->nexpected = 0;
	for (int i = 0; i < n; i++)
	{
		int			mode = mode_of(list[i]);
		bool		woken = mode == core_bits.until_free;

		if (!woken && process[p].op == OP_RELEASE)
		{
			woken = first == MODE_NONE || (first == MODE_SHARED && mode == MODE_SHARED);
			if (first == MODE_NONE)
				first = mode;
		}
		if (!woken)
			w->expected[w->nexpected++] = list[i];
	}
	w->wakes_retrier = first != MODE_NONE;
}

static void
check_wakeup(int p, int lock, uint32_t word)
{
	Watched    *w = &watched[lock];
	int			list[MAX_PROCESSES];
	int			n = read_list(lock, list);

	w->expecting = false;
	if (n != w->nexpected || memcmp(list, w->expected, n * sizeof(int)) != 0)
		fail("a wake-up took the wrong processes off the wait list of lock%d: %d are left instead of %d",
			 lock, n, w->nexpected);
	if (process[p].op == OP_RELEASE && ((word & core_bits.release_ok) == 0) != w->wakes_retrier)
		fail("a wake-up %s one that tries again and leaves lock%d's word %s", w->wakes_retrier ? "wakes" : "does not wake",
			 lock, memory_value_name(LOCK_CELL(lock, CELL_WORD), word));
}

/*
 * A process changed a lock's word.
 */
void
check_word_change(int p, int lock, uint32_t old, uint32_t new)
{
	Watched    *w = &watched[lock];
	int32_t		change = (int32_t) (new & core_bits.holders) - (int32_t) (old & core_bits.holders);
	int		   *holds = &process[p].holds[lock];

	if (change != 0 && (old & core_bits.holders) == 0)
		w->taken_at = memory_time();
	if (change == 1 && *holds == MODE_NONE)
	{
		if (w->exclusive >= 0)
			fail("p%d has lock%d shared while p%d has it exclusively", p, lock, w->exclusive);
		*holds = MODE_SHARED;
		w->nshared++;
	}
	else if (change == (int32_t) core_bits.exclusive && *holds == MODE_NONE)
	{
		if (w->exclusive >= 0)
			fail("p%d and p%d have lock%d exclusively", p, w->exclusive, lock);
		if (w->nshared > 0)
			fail("p%d has lock%d exclusively while %d have it shared", p, lock, w->nshared);
		*holds = MODE_EXCLUSIVE;
		w->exclusive = p;
		w->exclusive_at = memory_time();
	}
	else if (change == -1 && *holds == MODE_SHARED)
	{
		*holds = MODE_NONE;
		w->nshared--;
	}
	else if (change == -(int32_t) core_bits.exclusive && *holds == MODE_EXCLUSIVE)
	{
		*holds = MODE_NONE;
		w->exclusive = -1;
	}
	else if (change != 0)
		fail("p%d changes the holders of lock%d by %d, which is no acquisition or release of its own",
			 p, lock, change);

	if (process[p].op == OP_RELEASE && change < 0)
		process[p].op_may_wake = (new & core_bits.release_ok) != 0;

	if (~old & new & core_bits.list_locked)
	{
		w->list_owner = p;
		if (process[p].op == OP_RELEASE && !process[p].op_may_wake)
			fail("p%d wakes waiters of lock%d although its release left that forbidden", p, lock);
		if (process[p].op == OP_RELEASE || process[p].op == OP_UPDATE_VAR)
			expect_list(p, lock);
	}
	else if (old & ~new & core_bits.list_locked)
	{
		if (w->list_owner != p)
			fail("p%d unlocks the wait list of lock%d, which p%d has locked", p, lock, w->list_owner);
		w->list_owner = -1;
		if (process[p].op == OP_UPDATE_VAR)
			w->cleared = false;
		if (w->expecting)
			check_wakeup(p, lock, new);
	}
}

/*
 * While nobody has it locked, a list has to be in order.
 */
static void
check_list(int lock)
{
	Watched    *w = &watched[lock];
	int			list[MAX_PROCESSES];
	int			n = read_list(lock, list);
	bool		want_it = false;
	bool		all_asleep = true;

	if (n > 0 && !(word_of(lock) & core_bits.has_waiters))
		fail("lock%d has waiters, and its word does not say so", lock);
	for (int i = 0; i < n; i++)
	{
		Process    *waiter = &process[list[i]];

		if (waiter->op == OP_NONE || waiter->op_lock != lock)
			fail("p%d is in the wait list of lock%d, for which it does not wait", list[i], lock);
		if (memory_value(PROCESS_CELL(list[i], CELL_STATE)) != core_bits.waiting)
			fail("p%d is in the wait list of lock%d, and its state is not waiting", list[i], lock);
		if (mode_of(list[i]) != core_bits.until_free)
			want_it = true;
		else if (want_it)
			fail("p%d, which waits until lock%d is free, is behind one that wants to have it", list[i], lock);

		/* the variable was the old one when it fell asleep */
		if (waiter->op == OP_WAIT_FOR_VAR && is_asleep(list[i]) && !w->cleared &&
			memory_value(LOCK_CELL(lock, CELL_VAR)) != waiter->op_oldval)
			fail("p%d waits for lock%d's variable, which has changed", list[i], lock);
		if (waiter->op == OP_WAIT_FOR_VAR && is_asleep(list[i]) && !(word_of(lock) & core_bits.release_ok))
			fail("p%d waits for lock%d's variable, and the next release will not wake it", list[i], lock);
	}

	/* sleeping although it is free, with nobody about to do anything? */
	if (n == 0 || (word_of(lock) & core_bits.holders) != 0)
		return;
	for (int p = 0; p < run.program.nprocesses && all_asleep; p++)
	{
		bool		listed = false;

		if (process[p].op == OP_NONE || process[p].op_lock != lock)
			continue;
		for (int i = 0; i < n; i++)
			listed |= list[i] == p;
		all_asleep = listed && is_asleep(p);
	}
	if (all_asleep)
		fail("lock%d is free, and all its waiters are asleep", lock);
}

void
check_step(void)
{
	if (checked_at == memory_time())
		return;
	checked_at = memory_time();
	for (int lock = 0; lock < run.program.nlocks; lock++)
	{
		if (!(word_of(lock) & core_bits.list_locked))
			check_list(lock);
	}
}

/*
 * Nobody can go on.
 */
void
check_stuck(void)
{
	char		who[256] = "";
	size_t		used = 0;

	for (int p = 0; p < run.program.nprocesses; p++)
	{
		if (process[p].op == OP_OTHER_WAIT)
			used += snprintf(who + used, sizeof(who) - used, ", p%d waits for its service", p);
		else if (process[p].op != OP_NONE)
			used += snprintf(who + used, sizeof(who) - used, ", p%d waits for lock%d (%s)", p, process[p].op_lock,
							 memory_value_name(LOCK_CELL(0, CELL_WORD), word_of(process[p].op_lock)));
	}
	fail("all are asleep%s", who);
}

/*
 * Everybody has come to an end of its program.
 */
void
check_end(void)
{
	check_step();
	for (int lock = 0; lock < run.program.nlocks; lock++)
	{
		if (word_of(lock) != core_bits.release_ok)
			fail("in the end, lock%d's word is %s", lock,
				 memory_value_name(LOCK_CELL(lock, CELL_WORD), word_of(lock)));
		if (memory_value(LOCK_CELL(lock, CELL_HEAD)) != core_bits.list_end)
			fail("in the end, the wait list of lock%d is not empty", lock);
	}
	for (int p = 0; p < run.program.nprocesses; p++)
	{
		if (process[p].semaphore != process[p].stray_posts)
			fail("in the end, p%d's semaphore is %d instead of %d", p,
				 process[p].semaphore, process[p].stray_posts);
		if (memory_value(PROCESS_CELL(p, CELL_STATE)) != core_bits.not_waiting)
			fail("in the end, p%d's state is not that it does not wait", p);
		if (memory_value(PROCESS_CELL(p, CELL_NEXT)) != 0 || memory_value(PROCESS_CELL(p, CELL_PREV)) != 0)
			fail("in the end, p%d's link is not cleared", p);
		if (process[p].spins != 0 || process[p].sleeps != 0)
			fail("in the end, p%d has not ended each spin and sleep that it began", p);
	}
	actions_check_end();
}

/*
 * Around a call: what it is, and whether it returned what is true.
 */
void
check_op_begin(Operation op, int lock, int mode, int64_t oldval)
{
	static const char *const names[] = {"", "acquires", "acquires if free", "acquires or waits for",
	"releases", "waits for the variable of", "updates the variable of", "clears the variable of"};
	Process    *self = &process[run.current];

	shim_step(STEP_PLAIN);
	self->op = op;
	self->op_lock = lock;
	self->op_mode = mode;
	self->op_oldval = oldval;
	self->op_floor = memory_floor(run.current);
	self->op_taken_off = false;
	if (op == OP_CLEAR_VAR)
		watched[lock].cleared = true;
	if (run.trace)
		trace("%s lock%d, %s", names[op], lock, mode == MODE_SHARED ? "shared" : "exclusive");
}

/* For its mode, at any time that this operation may have seen. */
static bool
was_free(const Watched *w, uint32_t holders, const Process *self)
{
	if (self->op_mode == MODE_SHARED)
		return !(holders & core_bits.exclusive) || w->exclusive_at > self->op_floor;
	return holders == 0 || w->taken_at > self->op_floor;
}

void
check_op_end(bool result, int64_t newval)
{
	int			p = run.current;
	Process    *self = &process[p];
	int			lock = self->op_lock;
	Watched    *w = &watched[lock];
	uint32_t	holders = word_of(lock) & core_bits.holders;

	shim_step(STEP_PLAIN);
	switch (self->op)
	{
		case OP_ACQUIRE:
		case OP_CONDITIONAL:
			if (self->holds[lock] != (result ? self->op_mode : MODE_NONE))
				fail("p%d was told wrongly whether it has lock%d", p, lock);
			break;
		case OP_ACQUIRE_OR_WAIT:
			if (self->holds[lock] != (result ? self->op_mode : MODE_NONE))
				fail("p%d was told wrongly whether it has lock%d", p, lock);
			/* a wake-up may be late, and due to a release before we came */
			if (!result && !was_free(w, holders, self) && !self->op_taken_off)
				fail("p%d was told that lock%d is or was free, and it was not", p, lock);
			break;
		case OP_WAIT_FOR_VAR:
			if (result && (holders & core_bits.exclusive) && w->exclusive_at <= self->op_floor)
				fail("p%d was told that lock%d is or was free, and it was not", p, lock);
			if (!result && (newval == self->op_oldval ||
							!memory_had(LOCK_CELL(lock, CELL_VAR), newval, self->op_floor)))
				fail("p%d was told that lock%d's variable is %lld", p, lock, (long long) newval);
			break;
		case OP_RELEASE:
			if (self->holds[lock] != MODE_NONE)
				fail("p%d still has lock%d after it released it", p, lock);
			break;
		default:
			break;
	}
	if (run.trace && self->op != OP_RELEASE)
		trace("returns %s", result ? "true" : "false");
	self->op = OP_NONE;
}
